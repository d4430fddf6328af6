"""What is not built yet is refused by name, and every such name is a field of the model."""

from typing import Any

import pytest

from sereno.subscriptions.models import SPECS, Kind
from sereno.subscriptions.supported import LATER, not_yet

CASES = [
    (kind, path, value)
    for kind, fields in LATER.items()
    for path, values in fields.items()
    for value in (sorted(values) if values else [None])
]


@pytest.mark.parametrize(("kind", "path", "value"), CASES)
def test_each_is_refused_by_its_name(kind: Kind, path: tuple[str, ...], value: str | None) -> None:
    spec: Any = value or 0
    for step in reversed(path):
        spec = {step: spec}
    name = ".".join(path) + (f": {value}" if value else "")
    assert list(not_yet(kind, spec)) == [(("spec", *path), f"not yet supported: {name}")]


@pytest.mark.parametrize(("kind", "path", "value"), CASES)
def test_each_is_a_field_of_the_model(kind: Kind, path: tuple[str, ...], value: str | None) -> None:
    schema = SPECS[kind].model_json_schema()
    current: Any = schema
    for step in path:
        current = current["properties"][step]
        options = current.get("anyOf", [current])
        reference = next((option["$ref"] for option in options if "$ref" in option), None)
        if reference:
            current = schema["$defs"][reference.rpartition("/")[2]]
    if value is not None:
        assert value in current["enum"]


@pytest.mark.parametrize(
    "spec", [None, [], "text", {"source": "text"}, {"limits": {"cooldown": {"then": ["batch"]}}}]
)
def test_what_is_malformed_is_left_to_the_model(spec: object) -> None:
    assert list(not_yet("Subscription", spec)) == []
