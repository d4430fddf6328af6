"""Admission: from a request to envelopes that may be stored, or to the refusal that the sender gets.

Order matters: a stranger learns nothing but 401, whatever else is wrong with the request.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from sereno.envelope.encode import dumps
from sereno.envelope.envelope import Envelope
from sereno.envelope.identifiers import RANDOM_BYTES, uuid7_text
from sereno.envelope.receipt import Receipt, receive
from sereno.envelope.rejection import Rejected
from sereno.execution_plane import outside
from sereno.execution_plane.gateway import ping, storable, trace
from sereno.execution_plane.gateway.endpoint import Endpoint
from sereno.execution_plane.gateway.headers import Headers
from sereno.execution_plane.gateway.occurrence import Occurrence, Unsupported, read
from sereno.execution_plane.gateway.ping import Answered
from sereno.execution_plane.gateway.rate_limit import RateLimit
from sereno.execution_plane.gateway.secrets import Secrets
from sereno.execution_plane.gateway.signatures.github import GitHub
from sereno.execution_plane.gateway.signatures.judgement import authenticate
from sereno.execution_plane.gateway.signatures.scheme import Failed, Request, Verified
from sereno.execution_plane.large_data.claim_check import INLINE_BYTES
from sereno.mailbox.engine import tracing

# An envelope without its large data has to fit into one message of the ingress stream, beside the reference.
LARGEST_ENVELOPE = 960_000
_STATUS = {"too_large": 413, "unsupported_media_type": 415}
_PERSON = "user:"
_DUMMY_KEY = (b"no endpoint has this key",)


@dataclass(frozen=True, slots=True)
class Refused:
    """What the sender is answered instead of 202: status, stable code, one sentence."""

    status: int
    code: str
    detail: str
    field: str | None = None
    retry_after: int | None = None
    """Seconds until it may be sent again."""
    reason: str | None = dataclasses.field(default=None, compare=False)
    """Why a stranger is one; for the operator alone."""


class Admitted(NamedTuple):
    """Envelopes of one request and the same as bytes, in order; `paused` says that they wake nobody.

    `place` is where the request stands in its trace, `links` are the traces that its events belong to otherwise.
    """

    envelopes: tuple[Envelope, ...]
    encoded: tuple[bytes, ...]
    paused: bool = False
    place: trace.Place = trace.NOWHERE
    links: tuple[str, ...] = ()

    @property
    def is_large(self) -> bool:
        """Whether data of theirs has to be stored beside them, which is why they are still needed as objects."""
        return max(map(len, self.encoded), default=0) > INLINE_BYTES


class Arrival(NamedTuple):
    """One request as it came in, and when."""

    headers: Headers
    body: bytes
    recorded: datetime
    url: str = ""
    method: str = "POST"
    address: str | None = None


NOWHERE = Endpoint("", "", GitHub(), (), 0)
"""In the place of an endpoint that does not exist; nobody is ever let in there."""
STRANGER = Refused(401, "unauthenticated", "the endpoint or the signature is not known here")
# CloudEvents HTTP webhooks 1.0.2, 2.2: a retired target; only who can sign for it learns that it ever was one.
GONE = Refused(410, "gone", "this endpoint was deleted; send nothing more")


class Admission:
    """Decides on requests; randomness for receipt ids comes in as a function."""

    def __init__(self, secrets: Secrets, randomness: Callable[[int], bytes]) -> None:
        self._secrets = secrets
        self._randomness = randomness
        self._rates = RateLimit()

    def admit(self, endpoint: Endpoint | None, arrival: Arrival) -> Admitted | Answered | Refused:
        """The envelopes of an authentic request, the answer to its question, or why it is refused.

        An unknown endpoint costs what a known one costs, so that the time of the refusal tells nothing.
        """
        request = Request(arrival.headers, arrival.body, arrival.url, arrival.method)
        verified = self._authenticate(endpoint or NOWHERE, arrival, request)
        if endpoint is None:
            return STRANGER
        if isinstance(verified, Failed):
            return replace(STRANGER, reason=verified.reason)
        refused = self._limits(endpoint, arrival)
        if refused is not None:
            return refused
        answered = ping.answer(endpoint.scheme.name, request)
        if answered is not None:
            return answered
        found = read(endpoint, request, verified, fresh_id=lambda: self._receiptid(arrival.recorded))
        if isinstance(found, Unsupported):
            return Refused(415, "unsupported_media_type", found.message, found.header)
        if isinstance(found, Rejected):
            return Refused(_STATUS.get(found.code, 400), found.code, found.message, found.field)
        return self._admitted(endpoint, arrival, found)

    def _authenticate(self, endpoint: Endpoint, arrival: Arrival, request: Request) -> Verified | Failed:
        secrets = self._secrets.active(endpoint.secrets, bound_to=endpoint.path)
        found = authenticate(endpoint.scheme, request, secrets or _DUMMY_KEY, arrival.recorded.timestamp())
        return found if secrets else Failed("secret_missing")

    def _limits(self, endpoint: Endpoint, arrival: Arrival) -> Refused | None:
        if not endpoint.admits(arrival.address):
            return replace(STRANGER, reason="address_not_allowed")
        if endpoint.retired:
            return GONE
        if len(arrival.body) > endpoint.max_body:
            return Refused(413, "too_large", f"the body must be at most {endpoint.max_body} bytes", "body")
        if endpoint.rate is None:
            return None
        wait = self._rates.take(endpoint.tenant, endpoint.name, endpoint.rate, arrival.recorded)
        if wait is None:
            return None
        return Refused(
            429, "rate_limited", f"at most {endpoint.rate}; try again in {wait} s", retry_after=wait
        )

    def _admitted(
        self, endpoint: Endpoint, arrival: Arrival, found: tuple[Occurrence, ...]
    ) -> Admitted | Refused:
        place = trace.entered(arrival.headers)
        envelopes = tuple([self._envelope(endpoint, arrival, occurrence, place) for occurrence in found])
        encoded = tuple([dumps(envelope) for envelope in envelopes])
        if any(_is_too_large(*pair) for pair in zip(envelopes, encoded, strict=True)):
            return Refused(
                413, "too_large", f"an event's attributes must be at most {LARGEST_ENVELOPE} bytes", "body"
            )
        for envelope, item in zip(envelopes, encoded, strict=True):
            unstorable = storable.refusal(envelope.id, item)
            if unstorable is not None:
                return Refused(400, unstorable.code, unstorable.message, unstorable.field)
        links = tuple(trace.links_of(one.event for one in found)) if tracing.kept(place.traceparent) else ()
        return Admitted(envelopes, encoded, endpoint.paused, place, links)

    def _envelope(
        self, endpoint: Endpoint, arrival: Arrival, occurrence: Occurrence, place: trace.Place
    ) -> Envelope:
        principal = _principal(endpoint, occurrence)
        receipt = Receipt(
            receiptid=self._receiptid(arrival.recorded),
            tenantid=endpoint.tenant,
            origin=endpoint.origin,
            recordedtime=arrival.recorded,
            dedupkey=occurrence.dedupkey,
            # Who is not resolved is not trusted, and nothing is done on anybody's behalf (contract, 1).
            trust="untrusted" if principal is None else "authenticated",
            actor=occurrence.actor,
            actorid=principal,
            onbehalfof=principal if principal is not None and principal.startswith(_PERSON) else None,
            sensitivity=endpoint.sensitivity,
            traceparent=place.traceparent,
            tracestate=place.tracestate,
        )
        notes = {**occurrence.notes, outside.ENDPOINT_PAUSED: True} if endpoint.paused else occurrence.notes
        return receive(occurrence.event, receipt, notes)

    def _receiptid(self, recorded: datetime) -> str:
        millis = int(recorded.timestamp() * 1000)
        return uuid7_text(millis, self._randomness(RANDOM_BYTES))


def _is_too_large(envelope: Envelope, encoded: bytes) -> bool:
    """Whether it is larger than a message of the ingress even without its data, which is stored apart then."""
    return len(encoded) > LARGEST_ENVELOPE and len(dumps(replace(envelope, data=None))) > LARGEST_ENVELOPE


def _principal(endpoint: Endpoint, occurrence: Occurrence) -> str | None:
    """The principal behind the actor, when the actor is proven and known at this origin."""
    if occurrence.actor is None or not occurrence.verified:
        return None
    return endpoint.identities.get(occurrence.actor)
