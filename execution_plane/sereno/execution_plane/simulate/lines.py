"""The lines of a simulation: received envelopes and control lines, checked one by one."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from sereno.envelope import strict_json
from sereno.envelope.decode import loads_envelope
from sereno.envelope.envelope import Envelope, EnvelopeFault
from sereno.envelope.json_format import event_of_object
from sereno.envelope.rejection import Rejected
from sereno.execution_plane.guards.judgement import ErrorKind
from sereno.execution_plane.guards.resumption import Choice
from sereno.execution_plane.pipeline.arrival import Arrival
from sereno.execution_plane.pipeline.matcher import Index
from sereno.mailbox.scope import EVERYTHING
from sereno.subscriptions.models.types import Duration, Instant, Name

MAX_LINE_BYTES = 1_000_000


class LineFault(Exception):  # noqa: N818 - the house calls what is wrong a fault
    """A line that cannot be read or done; the message begins with its number."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(f"line {number}: {message}")


class Received(NamedTuple):
    """An envelope as the platform received it, the same as flat JSON, and when it was decided where that is known."""

    envelope: Envelope
    attributes: Mapping[str, Any]
    decided: datetime | None = None

    @property
    def at(self) -> datetime:
        """When it is decided: at its receipt, unless a store says otherwise."""
        return self.decided or self.envelope.recordedtime

    def arrival(self, index: Index) -> Arrival:
        """The event with the subscriptions that it concerns now."""
        return Arrival(self.envelope, self.attributes, index.match(self.envelope, self.attributes), 0)


class _Control(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    at: Instant


class _OfSubscription(_Control):
    subscription: Name
    tenant: Name | None = None
    reason: str | None = None


class Standing(_OfSubscription):
    """A person pauses or deletes a subscription."""

    do: Literal["pause", "delete"]


class Resume(_OfSubscription):
    """A person ends a pause, or lifts what suspends it; `held` says what becomes of what was held.

    Left out, a storm's backlog is kept for review and any other is delivered.
    """

    do: Literal["resume"]
    held: Choice | None = None


class Revoke(_OfSubscription):
    """Its right to fire is taken: its own, or because its owner was removed or its agent suspended."""

    do: Literal["revoke"]
    cause: Literal["revoked", "owner_removed", "agent_suspended"] = "revoked"


class Edit(_OfSubscription):
    """Another version of a subscription; `spec` is merged into the present one (RFC 7396).

    One that extends the budget lifts its suspension; `held` then says what becomes of what was held.
    """

    do: Literal["edit"]
    spec: dict[str, Any]
    held: Choice = "deliver"


class Stop(_Control):
    """Everything in the scope stands still: `*`, TENANT, TENANT/agent/NAME or TENANT/subscription/NAME; where one tenant
    is declared it may be left out (`agent/NAME`).
    """

    do: Literal["stop", "release"]
    scope: Annotated[str, Field(min_length=1, max_length=200)] = EVERYTHING
    reason: str | None = None


class Verdict(_Control):
    """What an evaluator said of an event that waits for it: a verdict, its raw answer, or why there is none.

    The fields are read as an evaluator's answer is, so a wrong one is an evaluation error and no bad line.
    """

    do: Literal["verdict"]
    event: str
    subscription: Name | None = None
    tenant: Name | None = None
    fires: Any = None
    confidence: Any = None
    evidence: Any = None
    answer: str | None = None
    error: ErrorKind | None = None
    usage: dict[str, Any] | None = None


class Claim(_Control):
    """A worker claims messages of an agent."""

    do: Literal["claim"]
    agent: str
    tenant: Name | None = None
    max: Annotated[int, Field(ge=1, le=1000)] = 1
    lease: Duration | None = None


class OfLease(_Control):
    """A holder finishes, gives back or keeps its lease."""

    do: Literal["ack", "fail", "renew"]
    lease: Annotated[str, Field(pattern=r"^L[1-9][0-9]{0,17}$")]
    usage: dict[str, Any] | None = None
    reason: str = "failed"
    retry_after: Duration | None = None


class Advance(_Control):
    """Nothing but time passes."""

    do: Literal["advance"]


Control = Standing | Resume | Revoke | Edit | Stop | Verdict | Claim | OfLease | Advance
Line = Received | Control
_CONTROL: TypeAdapter[Control] = TypeAdapter(Annotated[Control, Field(discriminator="do")])


def read(lines: Iterable[bytes], *, tenant: str) -> Iterator[tuple[int, Line]]:
    """Each line with its number, blank ones left out; LineFault at the first that is wrong or goes back in time."""
    latest: datetime | None = None
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        line = _line(number, text, tenant)
        if latest is not None and line.at < latest:
            raise LineFault(number, f"{line.at.isoformat()} is earlier than the line before it")
        latest = line.at
        yield number, line


def _line(number: int, text: bytes, tenant: str) -> Line:
    document = strict_json.parse(text, "the line")
    if isinstance(document, Rejected):
        raise LineFault(number, f"expected one JSON object: {document.message}")
    if not isinstance(document, dict):
        raise LineFault(number, "expected a JSON object")
    if "do" in document:
        return _control(number, document)
    return _received(number, document, len(text), tenant)


def _control(number: int, document: Mapping[str, Any]) -> Control:
    try:
        return _CONTROL.validate_python(document)
    except ValidationError as fault:
        error = fault.errors(include_url=False, include_input=False)[0]
        path = ".".join(str(step) for step in error["loc"] if step != document["do"])
        message = error["msg"].removeprefix("Value error, ")
        raise LineFault(number, f"{path}: {message}" if path else message) from None


def _received(number: int, document: dict[str, Any], size: int, tenant: str) -> Received:
    event = event_of_object(document, size, MAX_LINE_BYTES)
    if isinstance(event, Rejected):
        raise LineFault(number, f"{event.field}: {event.message}" if event.field else event.message)
    received = document.setdefault("recordedtime", document.get("time"))
    if received is None:
        raise LineFault(number, "recordedtime: expected the moment of receipt, or a time to take for it")
    if "origin" not in document:
        raise LineFault(number, "origin: expected the source it came through, such as webhook/zendesk")
    identity = f"{event.source}#{event.id}"
    document.setdefault("receiptid", identity)
    document.setdefault("dedupkey", identity)
    document.setdefault("tenantid", tenant)
    document.setdefault("correlationid", document["receiptid"])
    document.setdefault("hops", 1)
    document.setdefault("trust", "authenticated" if "actorid" in document else "untrusted")
    try:
        envelope = loads_envelope(document)
    except EnvelopeFault as fault:
        raise LineFault(number, str(fault)) from None
    if envelope.recordedtime.tzinfo is None:
        raise LineFault(number, "recordedtime: expected a zone: end it with Z for UTC")
    return Received(envelope, document)
