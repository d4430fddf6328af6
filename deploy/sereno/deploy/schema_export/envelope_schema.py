"""The JSON Schema of the envelope, read off its dataclass."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from typing import Any, Literal, get_args, get_origin, get_type_hints

from sereno.envelope.envelope import Envelope
from sereno.envelope.event import SPECVERSION

# Fields that are no attribute of their own in the JSON format.
_SPREAD = frozenset({"data", "extensions", "outside"})
_MEANING: Mapping[str, str] = {
    "id": "The sender's id of the event, unique within source.",
    "source": "Where it happened, as the sender names it (a URI reference).",
    "type": "What kind of thing happened.",
    "time": "When it happened, as the sender says.",
    "subject": "About what it is, within source.",
    "datacontenttype": "The media type of data.",
    "dataschema": "The schema that data adheres to (a URI).",
    "receiptid": "Our id of this receipt (UUIDv7); rcp_… to people.",
    "tenantid": "The tenant, from the authenticated endpoint.",
    "origin": "Through which source it came, such as webhook/ENDPOINT or time/SUBSCRIPTION.",
    "recordedtime": "When the platform received it.",
    "dedupkey": "The natural key of the logical occurrence.",
    "correlationid": "The first event of the chain.",
    "causationid": "The cause of this event: a message or an event.",
    "hops": "1 + the most hops among the causes; 1 for the first event of a chain.",
    "trust": "How the sender is known; says who sent it, not that it is true.",
    "actor": "Who acted at the source.",
    "actorid": "The principal to whom actor resolves.",
    "onbehalfof": "User context, where there is one.",
    "sensitivity": "How sensitive the data is, as declared or as raised by the sender.",
    "dataref": "Where large data is kept.",
    "traceparent": "W3C trace context.",
    "tracestate": "W3C trace context.",
}


def envelope_schema() -> dict[str, Any]:
    """The schema of an envelope in the CloudEvents JSON format, as on the stream, in messages and in explain."""
    hints = get_type_hints(Envelope)
    attributes = [field for field in fields(Envelope) if field.name not in _SPREAD]
    required = [
        field.name for field in attributes if field.default is MISSING and field.default_factory is MISSING
    ]
    properties: dict[str, Any] = {"specversion": {"const": SPECVERSION}}
    for field in attributes:
        properties[field.name] = _shape(hints[field.name]) | {"description": _MEANING[field.name]}
    properties["outside"] = {
        "type": "string",
        "contentMediaType": "application/json",
        "description": "What the sender had set under a name of ours: a JSON object in a string.",
    }
    properties["data"] = {"description": "The payload: any JSON value, or text of a type that is not JSON."}
    properties["data_base64"] = {
        "type": "string",
        "contentEncoding": "base64",
        "description": "The payload, when it is binary.",
    }
    return {
        "title": "Envelope",
        "description": "A CloudEvents 1.0.2 event as the platform received it.",
        "type": "object",
        "required": ["specversion", *required],
        "properties": properties,
        "propertyNames": {"pattern": "^([a-z0-9]+|data_base64)$"},
        "additionalProperties": {"type": ["string", "integer", "boolean"]},
        "not": {"required": ["data", "data_base64"]},
    }


def _shape(hint: Any) -> dict[str, Any]:
    parts = [part for part in get_args(hint) if part is not type(None)]
    if type(None) in get_args(hint):
        return _shape(parts[0])
    if get_origin(hint) is Literal:
        return {"enum": list(get_args(hint))}
    if hint is datetime:
        return {"type": "string", "format": "date-time"}
    if hint is int:
        return {"type": "integer", "minimum": 1}
    return {"type": "string", "minLength": 1}
