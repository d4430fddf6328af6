"""The AsyncAPI 3 document of what travels over NATS: streams, subjects, the manifest bucket."""

from typing import Any

from nats.js.api import StreamConfig

from sereno.mailbox.engine import bus
from sereno.mailbox.engine.outbox import POSITION_HEADER
from sereno.subscriptions.report import ActivityReport
from sereno.subscriptions.snapshot import CatalogObject, SignedManifest

_TENANT = {"tenant": {"description": "The tenant, as one subject token."}}
_AGENT = {"agent": {"description": "The agent, as one subject token."}}
_KIND = {"kind": {"description": "What is asked.", "enum": ["test", "replay"]}}
_PLANE = {"plane": {"description": "The plane that reports.", "enum": ["control", "execution"]}}


def asyncapi(version: str) -> dict[str, Any]:
    """The document; each payload refers to the published schema of its shape."""
    streams = {stream.name: stream for stream in bus.streams()}
    channels = {
        "ingress": _channel(
            "sereno.ingress.{tenant}",
            _TENANT,
            "IngressBatch",
            "Where events enter: each message is a group commit of one tenant.",
            streams[bus.INGRESS],
        ),
        "reports": _channel(
            "sereno.reports.{plane}.{tenant}",
            _PLANE | _TENANT,
            "ActivityReport",
            "What a plane did, for the other to fold.",
            streams[bus.REPORTS],
        ),
        "wake": _channel(
            "sereno.wake.{tenant}.{agent}",
            _TENANT | _AGENT,
            "Wake",
            "A hint that the mailbox of an agent has something ready; losing one loses nothing.",
        ),
        "ask": _channel(
            "sereno.ask.{kind}.{tenant}",
            _KIND | _TENANT,
            "Question",
            "What the control plane asks now; the execution plane answers in the inbox of whoever asked.",
        ),
        "manifest": _channel(
            f"$KV.{bus.MANIFESTS}.manifest.{{tenant}}",
            _TENANT,
            "SignedManifest",
            "The signed manifest of a tenant, level-triggered.",
        ),
        "blob": _channel(
            f"$KV.{bus.MANIFESTS}.blob.{{tenant}}.{{sha256}}",
            _TENANT | {"sha256": {"description": "SHA-256 of the canonical bytes, hex."}},
            "CatalogObject",
            "One object of the catalog, content-addressed.",
        ),
    }
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "Sereno over NATS", "version": version},
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": {
            name: {"action": "receive", "channel": {"$ref": f"#/channels/{name}"}} for name in channels
        },
        "components": {"messages": _messages()},
    }


def _channel(
    address: str,
    parameters: dict[str, Any],
    message: str,
    description: str,
    stream: StreamConfig | None = None,
) -> dict[str, Any]:
    channel: dict[str, Any] = {
        "address": address,
        "description": description,
        "parameters": parameters,
        "messages": {message: {"$ref": f"#/components/messages/{message}"}},
    }
    if stream is not None:
        channel["x-jetstream"] = {
            "stream": stream.name,
            "subjects": stream.subjects,
            "retention": stream.retention,
            "discard": stream.discard,
            "max_bytes": stream.max_bytes,
            "max_msg_size": stream.max_msg_size,
        }
    return channel


def _messages() -> dict[str, Any]:
    return {
        "IngressBatch": {
            "contentType": "application/cloudevents-batch+json",
            "summary": "Envelopes of one tenant in the CloudEvents batch format.",
            "headers": _position(),
            "payload": {"type": "array", "items": {"$ref": "envelope.schema.json"}},
        },
        "ActivityReport": {
            **_message(ActivityReport.__doc__, "activity-report.schema.json"),
            "headers": _position(required=True),
        },
        "Wake": {
            "summary": "No payload: look into the mailbox.",
            "payload": {"maxLength": 0, "type": "string"},
        },
        "Question": {
            "summary": "A subscription as it stands or might stand, who asks, and for a test the events to judge.",
            "payload": {
                "type": "object",
                "properties": {
                    "subscription": {"$ref": "catalog-object.schema.json"},
                    "by": {"type": "string"},
                    "events": {"type": ["array", "null"], "items": {"type": "object"}},
                    "most": {"type": "integer"},
                },
                "required": ["subscription", "by"],
            },
        },
        "SignedManifest": _message(SignedManifest.__doc__, "signed-manifest.schema.json"),
        "CatalogObject": _message(CatalogObject.__doc__, "catalog-object.schema.json"),
    }


def _message(summary: str | None, schema: str) -> dict[str, Any]:
    return {"summary": summary, "payload": {"$ref": schema}}


def _position(*, required: bool = False) -> dict[str, Any]:
    """What an outbox adds: a receiver that has seen a position does not fold it again."""
    return {
        "type": "object",
        "properties": {
            POSITION_HEADER: {
                "type": "string",
                "pattern": "^[a-z]+:[1-9][0-9]*$",
                "description": "The plane and position of the outbox row that this message was.",
            }
        },
        "required": [POSITION_HEADER] if required else [],
    }
