"""`sereno types list` against its golden file: a change of our own types is a change of a promise."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sereno.deploy.main import build

GOLDEN = json.loads((Path(__file__).parent / "types.golden.json").read_text(encoding="utf-8"))


def listed(*options: str) -> str:
    app = build("types")
    result = CliRunner().invoke(app, ["types", "list", *options])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.req(46)
def test_the_listing_as_json_equals_the_golden_file() -> None:
    assert json.loads(listed("--json")) == GOLDEN


def test_the_table_names_every_type() -> None:
    shown = listed()
    assert all(entry["name"] in shown for entry in GOLDEN)
