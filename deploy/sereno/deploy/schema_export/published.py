"""What is published: the name of each document and where it comes from."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, get_args

from pydantic import BaseModel

from sereno.deploy.schema_export.asyncapi import asyncapi
from sereno.deploy.schema_export.declared_schema import declared_schema
from sereno.deploy.schema_export.envelope_schema import envelope_schema
from sereno.deploy.schema_export.mailbox_schema import mailbox_schemas
from sereno.deploy.schema_export.openapi import openapis
from sereno.deploy.schema_export.simulate_schema import simulate_input_schema, simulate_output_schema
from sereno.execution_plane.platform_data import DATA
from sereno.subscriptions.models import Kind
from sereno.subscriptions.report import ActivityReport, AuditEndReport, SuspensionEnded, SuspensionReport
from sereno.subscriptions.snapshot import CatalogObject, Manifest, SignedManifest

Document = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"

_PLATFORM = "sereno.platform."
_MODELS: Mapping[str, type[BaseModel]] = {
    "activity-report": ActivityReport,
    "suspension-report": SuspensionReport,
    "suspension-ended": SuspensionEnded,
    "audit-end-report": AuditEndReport,
    **{f"platform-{name.removeprefix(_PLATFORM).replace('.', '-')}": model for name, model in DATA.items()},
    "catalog-object": CatalogObject,
    "manifest": Manifest,
    "signed-manifest": SignedManifest,
}


def documents() -> dict[str, Document]:
    """Every published document by name, without its `.json`; nothing is started to make them."""
    release = version("sereno")
    published = {f"{name}.schema": _named(name, schema) for name, schema in _schemas().items()}
    published |= {f"{plane}.openapi": document for plane, document in openapis(release).items()}
    published["nats.asyncapi"] = asyncapi(release)
    return published


def _schemas() -> dict[str, Document]:
    return {
        "envelope": envelope_schema(),
        **{kind.lower(): declared_schema(kind) for kind in get_args(Kind)},
        **{name: model.model_json_schema() for name, model in _MODELS.items()},
        **mailbox_schemas(),
        "simulate-input": simulate_input_schema(),
        "simulate-output": simulate_output_schema(),
    }


def _named(name: str, schema: Document) -> Document:
    return {"$schema": _DIALECT, "$id": f"urn:sereno:schema:{name}", **schema}
