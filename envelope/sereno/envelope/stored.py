"""Reading back what we wrote: envelopes of our own streams and tables (the hot path)."""

from base64 import b64decode
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from sereno.envelope.envelope import Envelope, EnvelopeFault
from sereno.envelope.event import SPECVERSION

_KNOWN = frozenset(Envelope.__dataclass_fields__) | {"specversion", "data_base64"}


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
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise EnvelopeFault(f"a stored envelope is corrupt: {type(error).__name__} {error}") from error


def _envelope(document: Mapping[str, Any]) -> Envelope:
    if document["specversion"] != SPECVERSION:
        raise ValueError(f"specversion {document['specversion']!r}")
    get = document.get
    time, base64, outside = get("time"), get("data_base64"), get("outside")
    return Envelope(
        id=document["id"],
        source=document["source"],
        type=document["type"],
        time=None if time is None else datetime.fromisoformat(time),
        subject=get("subject"),
        datacontenttype=get("datacontenttype"),
        dataschema=get("dataschema"),
        data=get("data") if base64 is None else b64decode(base64, validate=True),
        extensions={name: document[name] for name in document.keys() - _KNOWN},
        receiptid=document["receiptid"],
        tenantid=document["tenantid"],
        origin=document["origin"],
        recordedtime=datetime.fromisoformat(document["recordedtime"]),
        dedupkey=document["dedupkey"],
        correlationid=document["correlationid"],
        causationid=get("causationid"),
        hops=document["hops"],
        trust=document["trust"],
        actor=get("actor"),
        actorid=get("actorid"),
        onbehalfof=get("onbehalfof"),
        sensitivity=get("sensitivity"),
        dataref=get("dataref"),
        traceparent=get("traceparent"),
        tracestate=get("tracestate"),
        outside={} if outside is None else orjson.loads(outside),
    )
