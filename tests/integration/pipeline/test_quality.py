"""Labels, what they say of a criterion, and its replay under another wording or another model."""

import os
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from sereno.envelope.identifiers import to_people
from sereno.execution_plane.evaluator import criteria
from sereno.execution_plane.evaluator.evaluation import Evaluation
from sereno.execution_plane.evaluator.judging import Judging
from sereno.execution_plane.evaluator.metering import Meter
from sereno.execution_plane.evaluator.replay import Replay
from sereno.execution_plane.pipeline.directory import Directory
from sereno.execution_plane.quality import http as quality_http
from sereno.mailbox.engine import problems
from sereno.mailbox.principal import Principal
from tests.integration.pipeline.conftest import Plane
from tests.integration.pipeline.test_condition_test import ASKED, CONDITION, evaluating, judge
from tests.integration.pipeline.test_live_guards import arrive
from tests.openai_server import ScriptedModel, serving
from tests.passages import TENANT, declared, receiptid, received

TEXTS = ("a refund please", "refund policy page", "thank you", "my money back now")
MARTA = Principal("user:marta", TENANT)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with serving(judge) as served:
        yield served


@pytest.fixture
async def client(plane: Plane) -> AsyncIterator[httpx.AsyncClient]:
    app = FastAPI()
    problems.install(app)
    app.include_router(quality_http.router(plane.pool, plane.catalog, lambda: MARTA))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://execution") as client:
        yield client


async def judged(plane: Plane, evaluation: Evaluation) -> None:
    """Two met (the first rightly), two did not (the last wrongly)."""
    await plane.in_force(ASKED)
    directory = Directory(plane.catalog)
    await arrive(plane, directory, *(received(n, data={"text": text}) for n, text in enumerate(TEXTS, 1)))
    assert await Judging(plane.pool, directory, evaluation).round() == 4


async def labelled(client: httpx.AsyncClient) -> None:
    for number, word in enumerate(("right", "wrong", "right", "wrong"), start=1):
        event = to_people("rcp", receiptid(number))
        answer = await client.post("/v1/labels", json={"event": event, "label": word})
        assert answer.status_code == 200, answer.text


async def quality(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    answer = await client.get(f"/v1/subscriptions/{ASKED.name}/quality")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["criteria"]
    return found


@pytest.mark.req(91, 158)
async def test_quality_counts_by_version_of_the_criterion(
    plane: Plane, client: httpx.AsyncClient, model: ScriptedModel
) -> None:
    async with evaluating(model) as evaluation:
        await judged(plane, evaluation)
    [unlabelled] = await quality(client)
    assert (unlabelled["met"], unlabelled["not_met"], unlabelled["precision"], unlabelled["recall"]) == (
        2,
        2,
        None,
        None,
    )
    await labelled(client)
    [now] = await quality(client)
    assert (now["labelled"], now["precision"], now["recall"]) == (4, 0.5, 0.5)
    assert (now["criterion"], now["model"], now["in_force"]) == (CONDITION["criterion"], "tiny", True)
    again = await client.post("/v1/labels", json={"event": "e-2", "label": "right"})
    assert (again.json()["met"], again.json()["subscription"]) == (True, ASKED.name)
    assert [one["precision"] for one in await quality(client)] == [1.0]


async def test_only_a_verdict_can_be_labelled(
    plane: Plane, client: httpx.AsyncClient, model: ScriptedModel
) -> None:
    await plane.in_force(declared())
    await arrive(plane, Directory(plane.catalog), received(1))
    for body, status, code in (
        ({"event": "e-1", "label": "right"}, 409, "not_judged"),
        ({"event": "e-99", "label": "right"}, 404, "not_found"),
        ({"event": "e-1", "label": "perhaps"}, 422, "bad_input"),
    ):
        answer = await client.post("/v1/labels", json=body)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert (await client.get("/v1/subscriptions/nothing/quality")).status_code == 404
    assert await plane.count("execution.label") == 0


async def test_a_replay_says_how_right_an_edited_criterion_is_and_wakes_nobody(
    plane: Plane, client: httpx.AsyncClient, model: ScriptedModel
) -> None:
    edited = declared(condition={"criterion": "Does it want money?", "min_confidence": 0.7})
    async with evaluating(model) as evaluation:
        replay = Replay(plane.pool, evaluation, Meter(plane.pool, plane.catalog, os.urandom))
        asked = {"subscription": edited.model_dump(mode="json"), "by": "user:marta"}
        nothing = await replay.answer(asked)
        assert (nothing["labelled"], model.requests) == (0, [])
        await judged(plane, evaluation)
        await labelled(client)
        outbox = await plane.count("execution.outbox")
        done = await replay.answer(asked)
        assert await plane.count("execution.outbox") == outbox
    assert (done["labelled"], done["before"]["right"], done["after"]["right"]) == (4, 2, 2)
    assert (done["changed"], done["usage"]["calls"]) == ([], 1)
    kinds = await plane.rows("select distinct kind from execution.usage order by kind")
    assert [row["kind"] for row in kinds] == ["evaluation", "test"]
    both = await quality(client)
    assert [(one["in_force"], one["replay"] and one["replay"]["after"]["right"]) for one in both] == [
        (True, None),
        (False, 2),
    ]


@pytest.mark.req(97)
async def test_another_model_or_prompt_makes_a_criterion_due_until_it_is_replayed(
    plane: Plane, client: httpx.AsyncClient, model: ScriptedModel
) -> None:
    async with evaluating(model) as evaluation:
        await judged(plane, evaluation)
        await labelled(client)
    assert await criteria.mark_changed(plane.pool, ["tiny"]) == []
    assert [due.subscription for due in await criteria.mark_changed(plane.pool, ["larger"])] == [ASKED.name]
    assert await criteria.mark_changed(plane.pool, ["larger"]) == []
    assert (await quality(client))[0]["recheck_due"]["reason"] == "model"
    async with evaluating(model, model="larger") as evaluation:
        replay = Replay(plane.pool, evaluation, Meter(plane.pool, plane.catalog, os.urandom))
        await replay.answer({"subscription": ASKED.model_dump(mode="json"), "by": "user:marta"})
    [now] = await quality(client)
    assert (now["recheck_due"], now["model"]) == (None, "larger")
    async with plane.pool.acquire() as conn:
        assert len(await criteria.mark(conn, TENANT, [ASKED.name], "tool")) == 1
    assert (await quality(client))[0]["recheck_due"]["reason"] == "tool"
