"""The catalogue of our own event types is a promise: a change of it shows in the golden file."""

import json
from pathlib import Path
from typing import get_args

from sereno.envelope.types import CATALOGUE, Family, listing

GOLDEN = Path(__file__).parents[2] / "cases" / "types.golden.json"


def test_the_catalogue_equals_the_golden_file() -> None:
    assert listing() == json.loads(GOLDEN.read_text(encoding="utf-8"))


def test_each_type_stands_once_in_the_namespace_of_its_family() -> None:
    names = [entry.name for entry in CATALOGUE]
    assert len(set(names)) == len(names)
    for entry in CATALOGUE:
        assert entry.family in get_args(Family)
        assert entry.name.startswith(f"sereno.{entry.family}.")
        assert entry.description.endswith(".")
