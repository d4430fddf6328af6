"""What a holder asks of leases and what it is answered, one item a lease.

What is answered is made for each message on the hot path: tuples with names, which cost a third of a frozen dataclass.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from uuid import UUID

from sereno.mailbox.message import SubscriptionRef


class Status(StrEnum):
    """The answer to one item of a lease verb."""

    OK = "ok"
    STALE = "stale"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class RenewItem:
    """Ask to keep a lease; `progress` is anything the holder wants seen."""

    token: int
    progress: object = None


@dataclass(frozen=True, slots=True)
class AckItem:
    """Close the work as done, with a result of at most 64 KiB of JSON and the reported usage."""

    token: int
    result: object = None
    usage: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ReleaseItem:
    """Give the work back. `not_started` costs no attempt, `rejected` ends it; seconds in `retry_after`."""

    token: int
    reason: str
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class ParkItem:
    """Set the work aside until it is answered; the answer comes with the next claim.

    A `question` may have `options`, a `dependency` names another message of the tenant. At `deadline` the work
    goes on with the answer that there was none; every `remind_after_seconds` until then people are told again.
    """

    token: int
    waiting_for: Literal["approval", "question", "dependency"]
    question: str | None = None
    options: Sequence[str] = ()
    deadline: datetime | None = None
    remind_after_seconds: float | None = None
    dependency: UUID | None = None


@dataclass(frozen=True, slots=True)
class EmitItem:
    """An event to emit in the name of the work's agent; `data` is JSON."""

    token: int
    type: str
    data: object = None
    subject: str | None = None


class Answer(NamedTuple):
    """What became of one item. `state` is the work's state afterwards, where it is known."""

    token: int
    status: Status
    until: datetime | None = None
    state: str | None = None
    receiptid: UUID | None = None


class LeaseGrant(NamedTuple):
    """A lease as its holder sees it: database times, how long it was granted for, the token that fences every verb."""

    token: int
    until: datetime
    hard_deadline: datetime
    seconds: float


class Claimed(NamedTuple):
    """One message in the hands of a holder."""

    id: UUID
    tenant: str
    agent: str
    subscription: SubscriptionRef
    instruction: str
    envelopes: Sequence[Mapping[str, Any]]
    attempts: int
    max_attempts: int
    priority: int
    serial_key: str | None
    lineage: Sequence[Mapping[str, Any]]
    lease: LeaseGrant
    context: Mapping[str, Any] = MappingProxyType({})
    answers: Sequence[Mapping[str, Any]] = ()
