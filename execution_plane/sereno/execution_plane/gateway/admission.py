"""Admission: from a request to envelopes that may be stored, or to the refusal that the sender gets.

Order matters: a stranger learns nothing but 401, whatever else is wrong with the request.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sereno.envelope.encode import dumps
from sereno.envelope.envelope import Envelope
from sereno.envelope.identifiers import RANDOM_BYTES, uuid7_text
from sereno.envelope.receipt import Receipt, receive
from sereno.envelope.rejection import Rejected
from sereno.execution_plane.gateway.endpoint import Endpoint
from sereno.execution_plane.gateway.headers import Headers
from sereno.execution_plane.gateway.occurrence import Occurrence, Unsupported, read
from sereno.execution_plane.gateway.secrets import Secrets
from sereno.execution_plane.gateway.signatures.mac import digests

# One envelope has to fit into one message of the ingress stream, with room for what we write.
LARGEST_ENVELOPE = 960_000
_STATUS = {"too_large": 413, "unsupported_media_type": 415}
_DUMMY_KEY = (b"no endpoint has this key",)


@dataclass(frozen=True, slots=True)
class Refused:
    """What the sender is answered instead of 202: status, stable code, one sentence."""

    status: int
    code: str
    detail: str
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Admitted:
    """Envelopes of one request and the same as bytes, in order."""

    envelopes: tuple[Envelope, ...]
    encoded: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request as it came in, when, and the trace that it belongs to."""

    headers: Headers
    body: bytes
    recorded: datetime
    trace: Mapping[str, str]


STRANGER = Refused(401, "unauthenticated", "the endpoint or the signature is not known here")
# CloudEvents HTTP webhooks 1.0.2, 2.2: a retired target; only who can sign for it learns that it ever was one.
GONE = Refused(410, "gone", "this endpoint was deleted; send nothing more")


class Admission:
    """Decides on requests; randomness for receipt ids comes in as a function."""

    def __init__(self, secrets: Secrets, randomness: Callable[[int], bytes]) -> None:
        self._secrets = secrets
        self._randomness = randomness

    def admit(self, endpoint: Endpoint | None, arrival: Arrival) -> Admitted | Refused:
        """The envelopes of an authentic request, or why it is refused."""
        if endpoint is None:
            return refuse_stranger(arrival.body)
        if not self._is_authentic(endpoint, arrival):
            return STRANGER
        if endpoint.retired:
            return GONE
        if len(arrival.body) > endpoint.max_body:
            return Refused(413, "too_large", f"the body must be at most {endpoint.max_body} bytes", "body")
        found = read(
            endpoint.format,
            endpoint.origin,
            arrival.headers,
            arrival.body,
            fresh_id=self._receiptid(arrival.recorded),
        )
        if isinstance(found, Unsupported):
            return Refused(415, "unsupported_media_type", found.message, "content-type")
        if isinstance(found, Rejected):
            return Refused(_STATUS.get(found.code, 400), found.code, found.message, found.field)
        return self._admitted(endpoint, arrival, found)

    def _is_authentic(self, endpoint: Endpoint, arrival: Arrival) -> bool:
        secrets = self._secrets.active(endpoint.secrets)
        if not secrets:
            refuse_stranger(arrival.body)
            return False
        return endpoint.scheme.verify(arrival.headers, arrival.body, secrets)

    def _admitted(
        self, endpoint: Endpoint, arrival: Arrival, found: tuple[Occurrence, ...]
    ) -> Admitted | Refused:
        envelopes = tuple(self._envelope(endpoint, arrival, occurrence) for occurrence in found)
        encoded = tuple(dumps(envelope) for envelope in envelopes)
        if any(len(item) > LARGEST_ENVELOPE for item in encoded):
            return Refused(413, "too_large", f"an event must be at most {LARGEST_ENVELOPE} bytes", "body")
        return Admitted(envelopes, encoded)

    def _envelope(self, endpoint: Endpoint, arrival: Arrival, occurrence: Occurrence) -> Envelope:
        receipt = Receipt(
            receiptid=self._receiptid(arrival.recorded),
            tenantid=endpoint.tenant,
            origin=endpoint.origin,
            recordedtime=arrival.recorded,
            dedupkey=occurrence.dedupkey,
            # No identity resolves an actor of a webhook yet, and who is not resolved is not trusted (contract, 1).
            trust="untrusted",
            actor=occurrence.actor,
            sensitivity=endpoint.sensitivity,
            traceparent=arrival.trace.get("traceparent"),
            tracestate=arrival.trace.get("tracestate"),
        )
        return receive(occurrence.event, receipt, occurrence.notes)

    def _receiptid(self, recorded: datetime) -> str:
        millis = int(recorded.timestamp() * 1000)
        return uuid7_text(millis, self._randomness(RANDOM_BYTES))


def refuse_stranger(body: bytes) -> Refused:
    """The one answer to strangers, after as much work as a known endpoint would have cost."""
    digests(body, _DUMMY_KEY)
    return STRANGER
