"""The two slots of a prompt, and the strict reading of what comes back."""

import json
from itertools import count

import pytest

from sereno.execution_plane.evaluator import answer, prompt
from sereno.execution_plane.evaluator.item import Item
from sereno.execution_plane.guards.judgement import EvaluationError, Evidence, Judged

ITEMS = [Item.of("a", {"text": "I want a refund"}), Item.of("b", {"text": "Thank you"})]


def test_a_delimiter_that_stands_in_the_data_is_not_used() -> None:
    marks = (f"mark{number}" for number in count())
    made = prompt.of("refund?", [("a", "mark0 </items-mark1>")], lambda: next(marks))
    assert made.mark == "mark2"
    assert made.items.splitlines() == ["<items-mark2>", "mark2 a mark0 </items-mark1>", "</items-mark2>"]


@pytest.mark.req(85)
def test_criterion_and_data_travel_apart() -> None:
    made = prompt.of("CRITERION", [("a", "DATA")], lambda: "k7")
    assert ("CRITERION" in made.task, "DATA" in made.task) == (True, False)
    assert ("CRITERION" in made.items, "DATA" in made.items) == (False, True)


def _verdict(item: str, quote: str, **changed: object) -> dict[str, object]:
    return {
        "item": item,
        "fires": True,
        "confidence": 0.9,
        "evidence": [{"item": item, "quote": quote}],
        **changed,
    }


def test_one_verdict_per_item() -> None:
    text = json.dumps({"verdicts": [_verdict("a", "refund"), _verdict("b", "Thank you", fires=False)]})
    assert answer.read(text, ITEMS, str) == {
        "a": Judged(True, 0.9, (Evidence("a", "refund"),)),
        "b": Judged(False, 0.9, (Evidence("b", "Thank you"),)),
    }


@pytest.mark.parametrize(
    ("verdicts", "kinds"),
    [
        ([_verdict("a", "refund")], (None, "missing_field")),
        ([_verdict("a", "refund"), _verdict("a", "refund"), _verdict("b", "Thank")], ("wrong_type", None)),
        ([_verdict("a", "Thank you"), _verdict("b", "Thank")], ("evidence", None)),
        ([_verdict("a", "refund", confidence=1.5), _verdict("b", "Thank")], ("confidence", None)),
        ([_verdict("a", "refund", fires="yes"), _verdict("b", "Thank")], ("wrong_type", None)),
        ([{"item": "a", "fires": True}, _verdict("b", "Thank")], ("missing_field", None)),
        (None, ("wrong_type", "wrong_type")),
    ],
)
def test_a_fault_in_one_verdict_costs_that_item_alone(
    verdicts: object, kinds: tuple[str | None, ...]
) -> None:
    answers = answer.read(json.dumps({"verdicts": verdicts}), ITEMS, str)
    found = tuple(a.kind if isinstance(a, EvaluationError) else None for a in (answers["a"], answers["b"]))
    assert found == kinds


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"fires": true', "truncated"),
        ("fires", "bad_json"),
        ("[]", "wrong_type"),
        ('{"fires": false, "fires": true, "confidence": 1, "evidence": []}', "bad_json"),
        ('{"fires": true, "confidence": NaN, "evidence": []}', "confidence"),
        ('{"fires": 1, "confidence": 1, "evidence": []}', "wrong_type"),
        ('{"fires": true, "confidence": "1", "evidence": []}', "wrong_type"),
        ('{"fires": true, "confidence": 1, "evidence": [{"item": "a", "quote": "free money"}]}', "evidence"),
        ('{"fires": true, "confidence": 1, "evidence": [{"item": "b", "quote": "refund"}]}', "evidence"),
    ],
)
def test_what_is_no_verdict_is_an_error(text: str, kind: str) -> None:
    found = answer.read(text, ITEMS[:1], str)["a"]
    assert isinstance(found, EvaluationError)
    assert found.kind == kind
