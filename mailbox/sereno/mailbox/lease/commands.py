"""What is asked of a message's work. `now` is the database's clock at that moment, `token` names the lease."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Claim:
    """Take it under the new lease `token`; without `lease` for as long as the message says."""

    now: datetime
    token: int
    lease: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Renew:
    """Keep the lease."""

    now: datetime
    token: int


@dataclass(frozen=True, slots=True)
class Ack:
    """Close it as done."""

    now: datetime
    token: int


@dataclass(frozen=True, slots=True)
class Release:
    """Give it back; `not_started` costs no attempt, `rejected` ends it."""

    now: datetime
    token: int
    reason: str
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Park:
    """Set it aside until something outside is answered."""

    now: datetime
    token: int
    waiting_for: str


@dataclass(frozen=True, slots=True)
class Resume:
    """What it was parked for is there."""

    now: datetime


@dataclass(frozen=True, slots=True)
class Reap:
    """Is anything overdue? The reaper asks it of all work that it finds."""

    now: datetime


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep it from being claimed; with `cancel` a live holder is told at the next renewal."""

    now: datetime
    cause: str
    cancel: bool


@dataclass(frozen=True, slots=True)
class Unhold:
    """That cause is gone."""

    now: datetime
    cause: str


@dataclass(frozen=True, slots=True)
class Withdraw:
    """End it for good; a live holder is told at the next renewal."""

    now: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Redrive:
    """Bring it back from the dead."""

    now: datetime


Command = Claim | Renew | Ack | Release | Park | Resume | Reap | Hold | Unhold | Withdraw | Redrive
