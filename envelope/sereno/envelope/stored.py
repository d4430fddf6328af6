"""Reading back what we wrote: envelopes of our own streams and tables (the hot path)."""

from base64 import b64decode
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from sereno.envelope.envelope import SLOTS, Envelope, EnvelopeFault
from sereno.envelope.event import NULL, SPECVERSION

_REQUIRED_TEXTS = (
    "id",
    "source",
    "type",
    "receiptid",
    "tenantid",
    "origin",
    "dedupkey",
    "correlationid",
    "trust",
)
_OPTIONAL = (
    "subject",
    "datacontenttype",
    "dataschema",
    "causationid",
    "actor",
    "actorid",
    "onbehalfof",
    "sensitivity",
    "dataref",
    "traceparent",
    "tracestate",
)
_KNOWN = frozenset(Envelope.__dataclass_fields__) | {"specversion", "data_base64"}

_new, _put = object.__new__, SLOTS
_PUT_REQUIRED = tuple((_put[name], name) for name in _REQUIRED_TEXTS)
_PUT_OPTIONAL = tuple((_put[name], name) for name in _OPTIONAL)
_put_time, _put_recordedtime, _put_hops = _put["time"], _put["recordedtime"], _put["hops"]
_put_data, _put_extensions, _put_outside = _put["data"], _put["extensions"], _put["outside"]


def loads_batch(payload: bytes) -> list[Envelope]:
    """The envelopes of one CloudEvents batch of our ingress stream; raises EnvelopeFault when it is corrupt."""
    try:
        documents = orjson.loads(payload)
    except orjson.JSONDecodeError as error:
        raise EnvelopeFault(f"an ingress message is not JSON: {error}") from error
    if not isinstance(documents, list):
        raise EnvelopeFault("an ingress message is not a JSON array of envelopes")
    return [loads_envelope(document) for document in documents]


def loads_envelope(document: Mapping[str, Any]) -> Envelope:
    """The envelope of its own flat CloudEvents JSON object; raises EnvelopeFault naming what is wrong."""
    try:
        return _envelope(document)
    except KeyError as error:
        raise EnvelopeFault(f"a stored envelope lacks {error.args[0]}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise EnvelopeFault(f"a stored envelope is corrupt: {error}") from error


def _envelope(document: Mapping[str, Any]) -> Envelope:
    if document["specversion"] != SPECVERSION:
        raise ValueError(f"its specversion is {document['specversion']!r}, not {SPECVERSION}")
    envelope = _new(Envelope)
    for put, name in _PUT_REQUIRED:
        value = document[name]
        if type(value) is not str:
            raise TypeError(f"its {name} is {value!r}, not a string")
        put(envelope, value)
    get = document.get
    for put, name in _PUT_OPTIONAL:
        put(envelope, get(name))
    time, outside, hops = get("time"), get("outside"), document["hops"]
    if type(hops) is not int:
        raise TypeError(f"its hops is {hops!r}, not an integer")
    _put_hops(envelope, hops)
    _put_time(envelope, None if time is None else datetime.fromisoformat(time))
    _put_recordedtime(envelope, datetime.fromisoformat(document["recordedtime"]))
    _put_outside(envelope, {} if outside is None else orjson.loads(outside))
    _put_extensions(envelope, {name: document[name] for name in document if name not in _KNOWN})
    _put_data(envelope, _data(document))
    return envelope


def _data(document: Mapping[str, Any]) -> object:
    if "data_base64" in document:
        return b64decode(document["data_base64"], validate=True)
    data = document.get("data")
    return NULL if data is None and "data" in document else data
