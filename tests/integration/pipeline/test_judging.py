"""Candidates of semantic conditions, from the row that waits to the wake-up, with a model whose answers are scripted."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import orjson
import pytest

from sereno.envelope.decode import loads_envelope
from sereno.execution_plane.evaluator import model_call
from sereno.execution_plane.evaluator.declared import DeclaredEvaluator
from sereno.execution_plane.evaluator.evaluation import Evaluation, Remembered
from sereno.execution_plane.evaluator.judging import Judging
from sereno.execution_plane.pipeline.directory import Directory
from sereno.mailbox.engine.bus import ingress_subject
from tests.integration.pipeline.conftest import Plane
from tests.integration.pipeline.test_live_guards import arrive
from tests.openai_server import Reply, ScriptedModel, serving
from tests.passages import TENANT, declared, received

CONDITION = {"criterion": "Does it ask for money back?", "min_confidence": 0.7}


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with serving(lambda _: verdicts((1, True, 0.9, "refund"), (2, False, 0.9, None))) as served:
        yield served


def verdicts(*given: tuple[int, bool, float, str | None]) -> Reply:
    found = [
        {
            "item": f"e-{number}",
            "fires": fires,
            "confidence": confidence,
            "evidence": [{"item": f"e-{number}", "quote": quote}] if quote else [],
        }
        for number, fires, confidence, quote in given
    ]
    return Reply(json.dumps({"verdicts": found}))


@asynccontextmanager
async def judging(plane: Plane, model: ScriptedModel, directory: Directory) -> AsyncIterator[Judging]:
    evaluator = DeclaredEvaluator.model_validate(
        {"name": "own", "model": "tiny", "url": model.url, "egress": "remote", "input_price": 10000}
    )
    async with model_call.opened_all([evaluator], {}) as callers:
        marks = map("mark{}".format, count()).__next__
        yield Judging(plane.pool, directory, Evaluation([evaluator], callers, Remembered(), marks))


async def standing(plane: Plane) -> list[tuple[Any, ...]]:
    rows = await plane.rows("select outcome, reason from execution.verdict order by receiptid")
    return [tuple(row.values()) for row in rows]


@pytest.mark.req(99)
async def test_novelties_are_judged_in_one_call_and_only_what_fires_wakes(
    plane: Plane, model: ScriptedModel
) -> None:
    await plane.in_force(declared(condition=CONDITION))
    directory = Directory(plane.catalog)
    texts = {1: "I want a refund, ann@example.org", 2: "Thank you"}
    await arrive(plane, directory, *(received(n, data={"text": text}) for n, text in texts.items()))
    async with judging(plane, model, directory) as judge:
        assert await judge.round() == 2
        assert await judge.round() == 0
    assert await standing(plane) == [("awaiting_verdict", "condition_met"), ("dropped", "not_met")]
    assert len(model.requests) == 1
    [row] = await plane.rows(
        "select payload from execution.outbox where subject = $1", ingress_subject(TENANT)
    )
    event = loads_envelope(orjson.loads(row["payload"])[0])
    assert await arrive(plane, directory, event) == [("delivered", "delivered")]
    [message] = await plane.rows("select envelopes from mailbox.message")
    assert message["envelopes"][0]["data"]["evidence"][0]["quote"] == "refund"
    assert message["envelopes"][0]["data"]["evidence"][0]["trust"] == "untrusted"
    [egress] = await plane.rows("select evaluator, egress, redacted, items from execution.egress")
    assert (egress["evaluator"], egress["egress"], len(egress["items"])) == ("own", "remote", 2)
    assert "EMAIL" in str(egress["redacted"])
    used = await plane.rows("select kind, model, cost from execution.usage order by reference")
    assert [(row["kind"], row["model"], row["cost"]) for row in used] == [
        ("evaluation", "tiny", pytest.approx(0.5)),
        ("evaluation", "tiny", pytest.approx(0.5)),
    ]


async def test_a_model_that_fails_wakes_nobody_and_is_asked_again_later(
    plane: Plane, model: ScriptedModel
) -> None:
    model.script = lambda _: Reply("no json")
    await plane.in_force(declared(condition=CONDITION))
    directory = Directory(plane.catalog)
    await arrive(plane, directory, received(1))
    async with judging(plane, model, directory) as judge:
        assert await judge.round() == 1
        assert await standing(plane) == [("awaiting_verdict", "awaiting_verdict")]
        [waiting] = await plane.rows("select attempts, last_error, token from execution.evaluation")
        assert (waiting["attempts"], waiting["token"]) == (1, None)
        assert waiting["last_error"].startswith("bad_json")
        for _ in range(4):
            await plane.pool.execute("update execution.evaluation set ready_at = now() - interval '1 s'")
            await judge.round()
    assert await plane.count("mailbox.message") == 0
    assert await standing(plane) == [("error", "bad_json")]
    [suspension] = await plane.rows("select cause from execution.suspension")
    assert suspension["cause"] == "errors"
