"""The lines of the golden simulation fit the published schemas, and lines that simulate refuses do not."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sereno import schemas

CASES = Path(__file__).parents[2] / "cases" / "simulate"


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schemas.read(name))


def lines(name: str) -> list[dict[str, Any]]:
    text = (CASES / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("name", "file"),
    [("simulate-input.schema", "events.jsonl"), ("simulate-output.schema", "expected.jsonl")],
)
def test_every_line_of_the_golden_example_fits(name: str, file: str) -> None:
    check = validator(name)
    assert lines(file)
    for line in lines(file):
        assert [error.message for error in check.iter_errors(line)] == [], line


@pytest.mark.parametrize(
    "line",
    [
        {"at": "2026-03-02T09:00:00Z", "do": "jump"},
        {"at": "2026-03-02T09:00:00Z", "do": "claim", "agent": "agent:a", "max": 0},
        {"at": "2026-03-02T09:00:00Z", "do": "ack", "lease": "1"},
        {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "time": "2026-03-02T09:00:00Z"},
        {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "origin": "webhook/x"},
        {},
    ],
)
def test_what_simulate_refuses_does_not_fit(line: dict[str, Any]) -> None:
    assert not validator("simulate-input.schema").is_valid(line)
