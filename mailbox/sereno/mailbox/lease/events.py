"""What happened to a message's work, as the event log keeps it: `kind` and `at` are columns of the log."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from sereno.mailbox.lease.work import Work


@dataclass(frozen=True, slots=True)
class Claimed:
    kind: ClassVar = "claimed"
    at: datetime
    token: int
    lease: timedelta


@dataclass(frozen=True, slots=True)
class Renewed:
    kind: ClassVar = "renewed"
    at: datetime


@dataclass(frozen=True, slots=True)
class Acked:
    kind: ClassVar = "acked"
    at: datetime


@dataclass(frozen=True, slots=True)
class Released:
    kind: ClassVar = "released"
    at: datetime
    reason: str
    ready_at: datetime


@dataclass(frozen=True, slots=True)
class Expired:
    kind: ClassVar = "expired"
    at: datetime


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The holder was told to stop; the work is ready again."""

    kind: ClassVar = "cancelled"
    at: datetime
    cause: str


@dataclass(frozen=True, slots=True)
class Parked:
    kind: ClassVar = "parked"
    at: datetime
    waiting_for: str


@dataclass(frozen=True, slots=True)
class Resumed:
    kind: ClassVar = "resumed"
    at: datetime


@dataclass(frozen=True, slots=True)
class Died:
    """`after` is how its last lease ended with it, None when it was in nobody's hands."""

    kind: ClassVar = "died"
    at: datetime
    reason: str
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Held:
    kind: ClassVar = "held"
    at: datetime
    cause: str
    cancel: bool


@dataclass(frozen=True, slots=True)
class Unheld:
    kind: ClassVar = "unheld"
    at: datetime
    cause: str


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Its holder will be told; whatever the holder then does short of an acknowledgement, it is dead."""

    kind: ClassVar = "withdrawn"
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Redriven:
    """A person brought it back: a new run, counters anew."""

    kind: ClassVar = "redriven"
    at: datetime


@dataclass(frozen=True, slots=True)
class Carried:
    """Everything before is in `work`: written before a day of the log is dropped."""

    kind: ClassVar = "carried"
    at: datetime
    work: Work


Move = (
    Claimed
    | Renewed
    | Acked
    | Released
    | Expired
    | Cancelled
    | Parked
    | Resumed
    | Died
    | Held
    | Unheld
    | Withdrawn
    | Redriven
)

Event = Move | Carried
