"""The JSON Schemas of declared objects, with the rules that their models keep as data."""

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from sereno.subscriptions.documents import API_VERSION
from sereno.subscriptions.models import SPECS, Kind, Metadata
from sereno.subscriptions.models.declared import Declared


class DeclaredSchema(GenerateJsonSchema):
    """Pydantic's generator, which also writes `exactly_one`, `needs` and `refuses` of a declared model."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """The object schema of a model and its rules."""
        document = super().model_schema(schema)
        for shape in document.get("properties", {}).values():
            _spell_bounds(shape)
        model = schema["cls"]
        if issubclass(model, Declared):
            document |= _rules(model)
        return document


def declared_schema(kind: Kind) -> dict[str, Any]:
    """The schema of one declared document of that kind, as written in YAML."""
    spec = SPECS[kind]
    references, shared = models_json_schema(
        [(Metadata, "validation"), (spec, "validation")], schema_generator=DeclaredSchema
    )
    return {
        "title": kind,
        "description": spec.__doc__,
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": kind},
            "metadata": references[Metadata, "validation"],
            "spec": references[spec, "validation"],
        },
        "additionalProperties": False,
        **shared,
    }


def _rules(model: type[Declared]) -> dict[str, Any]:
    rules: dict[str, Any] = {}
    if model.exactly_one:
        rules["oneOf"] = [{"required": [name]} for name in model.exactly_one]
    if model.needs:
        rules["dependentRequired"] = {name: list(others) for name, others in model.needs.items()}
    if model.refuses:
        rules["dependentSchemas"] = {
            name: {"not": {"anyOf": [{"required": [other]} for other in others]}}
            for name, others in model.refuses.items()
        }
    return rules


def _spell_bounds(shape: dict[str, Any]) -> None:
    # Where a bound stands outside a function, pydantic writes its own word and no validator knows it.
    for word, keyword in (("ge", "minimum"), ("le", "maximum")):
        if word in shape:
            shape[keyword] = shape.pop(word)
