"""The published schemas are what the models say, and say it so that real documents pass."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from sereno import schemas
from sereno.deploy.schema_export.__main__ import main
from sereno.envelope.encode import flat
from sereno.envelope.envelope import Envelope
from sereno.subscriptions import yaml_text
from sereno.subscriptions.example import EXAMPLE
from tests.unit.envelope.generated import envelopes

SCHEMAS = [name for name in schemas.names() if name.endswith(".schema")]


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schemas.read(name), format_checker=Draft202012Validator.FORMAT_CHECKER)


def references(document: Any) -> Iterator[str]:
    if isinstance(document, dict):
        for name, value in document.items():
            if name == "$ref":
                yield value
            else:
                yield from references(value)
    elif isinstance(document, list):
        for item in document:
            yield from references(item)


def resolves(document: dict[str, Any], reference: str) -> bool:
    target, _, pointer = reference.partition("#")
    place: Any = schemas.read(target.removesuffix(".json")) if target else document
    for step in pointer.split("/")[1:]:
        place = place.get(step.replace("~1", "/").replace("~0", "~"))
        if place is None:
            return False
    return True


def test_nothing_drifted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().err


def test_each_kind_of_drift_is_named_and_exits_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], tmp_path) == 0
    assert main(["--check"], tmp_path) == 0
    (tmp_path / "envelope.schema.json").unlink()
    (tmp_path / "tenant.schema.json").write_text("{}", encoding="utf-8")
    (tmp_path / "ghost.schema.json").write_text("{}", encoding="utf-8")
    assert main(["--check"], tmp_path) == 1
    lines = capsys.readouterr().err.splitlines()
    assert [line.removesuffix("; run `make schemas`") for line in lines] == [
        "schemas: envelope.schema.json is missing",
        "schemas: ghost.schema.json describes nothing any more",
        "schemas: tenant.schema.json differs from the models",
    ]
    assert main([], tmp_path) == 0
    assert main(["--check"], tmp_path) == 0
    assert not (tmp_path / "ghost.schema.json").exists()


def test_a_name_that_is_not_published_lists_those_that_are() -> None:
    with pytest.raises(schemas.UnknownSchemaError, match=r"no schema is named 'ghost'; there are .*envelope"):
        schemas.read("ghost")


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_schema_is_one_of_draft_2020_12(name: str) -> None:
    Draft202012Validator.check_schema(schemas.read(name))


@pytest.mark.parametrize("name", schemas.names())
def test_every_reference_leads_somewhere(name: str) -> None:
    document = schemas.read(name)
    assert [reference for reference in references(document) if not resolves(document, reference)] == []


def example(kind: str) -> dict[str, Any]:
    trees, _ = yaml_text.read(EXAMPLE)
    values: list[dict[str, Any]] = [tree.value for tree in trees if isinstance(tree.value, dict)]
    return json.loads(json.dumps(next(value for value in values if value["kind"] == kind)))  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", ["Agent", "Endpoint", "Subscription"])
@pytest.mark.req(68)
def test_what_init_writes_fits_the_schema_of_its_kind(kind: str) -> None:
    errors = validator(f"{kind.lower()}.schema").iter_errors(example(kind))
    assert [f"{error.json_path}: {error.message}" for error in errors] == []


def test_the_schema_refuses_what_apply_refuses() -> None:
    check = validator("subscription.schema")
    two_sources = example("Subscription")
    two_sources["spec"]["source"]["time"] = {"every": "1h"}
    assert not check.is_valid(two_sources)
    mistyped = example("Subscription")
    mistyped["spec"]["instructions"] = "x"
    assert not check.is_valid(mistyped)
    without_agent = example("Subscription")
    del without_agent["spec"]["agent"]
    assert not check.is_valid(without_agent)
    lonely_prefix = example("Endpoint")
    lonely_prefix["spec"]["prefix"] = "sha256="
    assert not validator("endpoint.schema").is_valid(lonely_prefix)


@given(envelopes())
def test_every_envelope_fits_its_schema(envelope: Envelope) -> None:
    errors = validator("envelope.schema").iter_errors(json.loads(json.dumps(flat(envelope))))
    assert [error.message for error in errors] == []


@pytest.mark.parametrize("name", ["receiptid", "tenantid", "dedupkey", "recordedtime", "hops", "id"])
@pytest.mark.req(36, 42)
def test_an_envelope_without_an_attribute_of_ours_does_not_fit(name: str) -> None:
    required = schemas.read("envelope.schema")["required"]
    assert name in required
