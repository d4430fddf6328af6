"""Arrivals: the events of ingress messages, each parsed once, with the subscriptions that they concern."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from sereno.envelope.decode import loads_envelope
from sereno.envelope.envelope import Envelope, EnvelopeFault
from sereno.execution_plane.guards.ledger import BodyKey
from sereno.execution_plane.outside import BODY_SHA256
from sereno.execution_plane.pipeline.matcher import Index, Match
from sereno.mailbox.engine.bus import token
from sereno.subscriptions.filters import of

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Payload:
    """One message of the ingress stream as it came: the bytes of a CloudEvents batch, the tenant as in its subject."""

    tenant: str
    sequence: int
    content: bytes


class Arrival(NamedTuple):
    """One event of the ingress: its envelope, the same as flat JSON, and which subscriptions it concerns."""

    envelope: Envelope
    attributes: Mapping[str, Any]
    matches: Sequence[Match]
    sequence: int

    @property
    def body_key(self) -> BodyKey | None:
        """Under which key its signed body counts once per endpoint; None when its scheme dates what it signs."""
        sha256 = self.envelope.outside.get(BODY_SHA256)
        if not isinstance(sha256, str):
            return None
        return self.envelope.tenantid, self.envelope.origin.removeprefix("webhook/"), sha256


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Bytes of the ingress that cannot be decided, and why."""

    tenant: str
    sequence: int
    content: bytes
    error: str
    receiptid: str | None = None


def read(payload: Payload, index: Index) -> Iterator[Arrival | Unreadable]:
    """The events of a payload one after the other, also those that cannot be read."""
    try:
        documents = orjson.loads(payload.content)
    except orjson.JSONDecodeError as fault:
        yield Unreadable(payload.tenant, payload.sequence, payload.content, f"not JSON: {fault}")
        return
    if not isinstance(documents, list):
        yield Unreadable(payload.tenant, payload.sequence, payload.content, "not a JSON array")
        return
    for document in documents:
        try:
            yield _arrival(document, payload, index)
        except Exception as fault:  # noqa: BLE001 - whatever one document does, the others must go on
            error = str(fault) if isinstance(fault, EnvelopeFault) else f"{type(fault).__name__}: {fault}"
            yield Unreadable(payload.tenant, payload.sequence, orjson.dumps(document), error)


def _arrival(document: Any, payload: Payload, index: Index) -> Arrival:
    envelope = loads_envelope(document)
    if token(envelope.tenantid) != payload.tenant:
        raise EnvelopeFault(f"an envelope of another tenant than its subject's: {envelope.tenantid!r}")
    if _UUID.fullmatch(envelope.receiptid) is None:
        raise EnvelopeFault(f"a receiptid that is no UUID: {envelope.receiptid!r}")
    attributes = of(document)
    return Arrival(envelope, attributes, index.match(envelope, attributes), payload.sequence)
