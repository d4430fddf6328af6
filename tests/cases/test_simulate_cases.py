"""The golden example of `sereno simulate`: twenty lines in, one line out for each thing that happened."""

from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from sereno.deploy.main import build

CASES = Path(__file__).parent / "simulate"


def simulate(*arguments: str) -> list[dict[str, object]]:
    app = build("simulate")
    files = ["--subscriptions", str(CASES / "subscriptions.yaml"), "--events", str(CASES / "events.jsonl")]
    answer = CliRunner().invoke(app, ["simulate", *files, *arguments])
    assert answer.exit_code == 0, answer.output
    return [orjson.loads(line) for line in answer.output.splitlines()]


@pytest.mark.req(99, 100, 101, 103)
def test_the_golden_example() -> None:
    expected = [orjson.loads(line) for line in (CASES / "expected.jsonl").read_bytes().splitlines()]
    assert simulate("--json") == expected


def test_all_adds_the_pairs_that_do_not_match_and_changes_nothing_else() -> None:
    everything = simulate("--json", "--all")
    assert [line for line in everything if line.get("outcome") != "not_matched"] == simulate("--json")
    assert len(everything) > len(simulate("--json"))


def test_a_second_run_says_the_same() -> None:
    assert simulate("--json") == simulate("--json")
