"""The catalogue of our own event types is a promise to subscribers."""

from typing import get_args

from sereno.envelope.types import CATALOGUE, Family


def test_each_type_stands_once_in_the_namespace_of_its_family() -> None:
    names = [entry.name for entry in CATALOGUE]
    assert names == sorted(set(names))
    for entry in CATALOGUE:
        assert entry.family in get_args(Family)
        assert entry.name.startswith(f"sereno.{entry.family}.")
        assert entry.description.endswith(".")
