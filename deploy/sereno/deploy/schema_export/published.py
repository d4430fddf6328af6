"""What is published: the name of each document and where it comes from."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, get_args

from pydantic import BaseModel

from sereno.deploy.schema_export.asyncapi import asyncapi
from sereno.deploy.schema_export.declared_schema import declared_schema
from sereno.deploy.schema_export.envelope_schema import DIALECT, envelope_schema
from sereno.subscriptions.models import Kind
from sereno.subscriptions.report import ActivityReport
from sereno.subscriptions.snapshot import CatalogObject, Manifest, SignedManifest

Document = dict[str, Any]

_MODELS: Mapping[str, type[BaseModel]] = {
    "activity-report": ActivityReport,
    "catalog-object": CatalogObject,
    "manifest": Manifest,
    "signed-manifest": SignedManifest,
}


def documents() -> dict[str, Document]:
    """Every published document by name, without its `.json`; nothing is started to make them."""
    release = version("sereno")
    published: dict[str, Document] = {"envelope.schema": envelope_schema()}
    for kind in get_args(Kind):
        name = kind.lower()
        published[f"{name}.schema"] = _named(name, declared_schema(kind))
    for name, model in _MODELS.items():
        published[f"{name}.schema"] = _named(name, model.model_json_schema())
    published["nats.asyncapi"] = asyncapi(release)
    return published


def _named(name: str, schema: Document) -> Document:
    return {"$schema": DIALECT, "$id": f"urn:sereno:schema:{name}", **schema}
