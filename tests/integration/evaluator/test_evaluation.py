"""The evaluation of items over the real client path, against a server whose answers are scripted."""

import json
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import count
from typing import Any

import pytest

from sereno.execution_plane.evaluator import model_call
from sereno.execution_plane.evaluator.answer import Answer
from sereno.execution_plane.evaluator.declared import DeclaredEvaluator
from sereno.execution_plane.evaluator.evaluation import CacheKey, Evaluated, Evaluation
from sereno.execution_plane.evaluator.item import Item
from sereno.execution_plane.guards.judgement import EvaluationError, Evidence, Judged
from tests.openai_server import Reply, ScriptedModel, serving, verdict

CRITERION = "Does this message demand a refund?"
REFUND = Item.of("evt-1", {"text": "I want a refund, write to ana@example.org"})
THANKS = Item.of("evt-2", {"text": "Thank you"})


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with serving(lambda _: verdict(True, 0.9, ("evt-1", "I want a refund"))) as served:
        yield served


def declared(model: ScriptedModel, **changed: Any) -> DeclaredEvaluator:
    given = {"name": "judge", "model": "tiny", "url": model.url, "egress": "remote", "timeout": 30, **changed}
    return DeclaredEvaluator.model_validate(given)


async def judged(
    items: list[Item], *evaluators: DeclaredEvaluator, cache: dict[CacheKey, Answer] | None = None
) -> Evaluated:
    marks: Callable[[], str] = map("mark{}".format, count()).__next__
    keys = {one.name: one.credential() for one in evaluators}
    async with model_call.opened_all(evaluators, keys) as callers:
        evaluation = Evaluation(evaluators, callers, {} if cache is None else cache, marks)
        return await evaluation.judge(CRITERION, "v1", items)


@pytest.mark.req(93)
async def test_a_verdict_with_its_evidence_cost_and_record(model: ScriptedModel) -> None:
    done = await judged([REFUND], declared(model, input_price=2, output_price=10, key="env:HOME"))
    assert done.answers == {"evt-1": Judged(True, 0.9, (Evidence("evt-1", "I want a refund"),))}
    (usage,) = done.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cost) == (100, 20, Decimal("0.0004"))
    (record,) = done.egress
    assert (record.evaluator, record.host, record.redacted) == ("judge", "127.0.0.1", {"EMAIL": 1})
    (request,) = model.requests
    assert "tools" not in request
    assert request["temperature"] == 0
    assert "ana@example.org" not in json.dumps(request)
    assert CRITERION in request["messages"][0]["content"]
    assert CRITERION not in request["messages"][1]["content"]


@pytest.mark.req(88)
async def test_without_novelties_nobody_is_asked(model: ScriptedModel) -> None:
    assert (await judged([], declared(model))).answers == {}
    assert model.requests == []


async def test_what_was_redacted_comes_back_in_the_evidence(model: ScriptedModel) -> None:
    model.script = lambda _: verdict(True, 0.9, ("evt-1", "write to [EMAIL_1]"))
    done = await judged([REFUND], declared(model))
    assert done.answers["evt-1"] == Judged(True, 0.9, (Evidence("evt-1", "write to ana@example.org"),))


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply("not json"), "bad_json"),
        (Reply('{"fires": true, "confi'), "truncated"),
        (Reply('{"fires": true}', finish="length"), "truncated"),
        (Reply("", finish="content_filter"), "refusal"),
        (Reply(None, refusal="I cannot judge that"), "refusal"),
        (Reply(""), "bad_json"),
        (Reply('{"fires": "yes", "confidence": 1, "evidence": []}'), "wrong_type"),
        (Reply('{"fires": true, "evidence": []}'), "missing_field"),
        (Reply('{"fires": true, "confidence": 2, "evidence": []}'), "confidence"),
        (verdict(True, 0.9, ("evt-1", "I demand money")), "evidence"),
        (Reply(body=b"<html>", status=200), "bad_json"),
        (Reply(body=b'{"choices": "none"}', status=200), "bad_json"),
        (Reply(body=b"{}", status=401), "auth"),
        (Reply(body=b"{}", status=403), "auth"),
        (Reply(body=b"{}", status=402), "budget"),
        (Reply(body=b"{}", status=429), "unavailable"),
        (Reply(body=b"{}", status=500), "unavailable"),
        (Reply(body=b" " * (2 << 20)), "truncated"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.req(90)
async def test_what_is_no_verdict_is_a_typed_error(model: ScriptedModel, reply: Reply, kind: str) -> None:
    model.script = lambda _: reply
    found = (await judged([REFUND], declared(model))).answers["evt-1"]
    assert isinstance(found, EvaluationError)
    assert found.kind == kind


async def test_a_model_that_does_not_answer_is_not_waited_for(model: ScriptedModel) -> None:
    answered = threading.Event()
    model.script = lambda _: Reply(after=answered)
    found = (await judged([REFUND], declared(model, timeout=0.3))).answers["evt-1"]
    answered.set()
    assert found == EvaluationError("timeout", "the model did not answer in time")


async def test_a_refused_connection_is_unavailable(model: ScriptedModel) -> None:
    found = (await judged([REFUND], declared(model, url="http://127.0.0.1:9/v1"))).answers["evt-1"]
    assert isinstance(found, EvaluationError)
    assert found.kind == "unavailable"


async def test_many_items_in_one_call(model: ScriptedModel) -> None:
    one = {
        "item": "evt-1",
        "fires": True,
        "confidence": 0.8,
        "evidence": [{"item": "evt-1", "quote": "refund"}],
    }
    two = {"item": "evt-2", "fires": False, "confidence": 0.9, "evidence": []}
    model.script = lambda _: Reply(json.dumps({"verdicts": [one, two]}))
    cache: dict[CacheKey, Answer] = {}
    done = await judged([REFUND, THANKS], declared(model), cache=cache)
    assert done.answers["evt-1"] == Judged(True, 0.8, (Evidence("evt-1", "refund"),))
    assert done.answers["evt-2"] == Judged(False, 0.9)
    again = await judged([REFUND, THANKS], declared(model), cache=cache)
    assert (again.answers, again.usage, len(model.requests)) == (done.answers, [], 1)


async def test_confidential_items_go_only_to_a_local_evaluator(model: ScriptedModel) -> None:
    secret = Item.of("evt-1", {"text": "I want a refund"}, "confidential")
    found = (await judged([secret], declared(model))).answers["evt-1"]
    assert isinstance(found, EvaluationError)
    assert "egress: local" in found.detail
    assert model.requests == []
    with serving(lambda _: verdict(True, 0.9, ("evt-1", "refund"))) as local:
        done = await judged([secret], declared(model), declared(local, name="own", egress="local"))
    assert done.judges == {"evt-1": "own"}
    assert model.requests == []


async def test_a_local_evaluator_stands_in_for_a_remote_one_that_is_away(model: ScriptedModel) -> None:
    away = declared(model, url="http://127.0.0.1:9/v1")
    done = await judged([REFUND], away, declared(model, name="own", egress="local"))
    assert done.judges == {"evt-1": "own"}
    assert [record.evaluator for record in done.egress] == ["judge", "own"]
    assert "ana@example.org" in json.dumps(model.requests[0])


async def test_a_key_goes_to_the_model_and_nowhere_else(
    model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "canary-key-1234")
    done = await judged([REFUND], declared(model, key="env:JUDGE_KEY"))
    assert model.authorizations == ["Bearer canary-key-1234"]
    assert "canary" not in json.dumps(model.requests)
    assert "canary" not in repr(done)
