"""The work of one message: where it stands, who holds it, until when."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sereno.mailbox.lease.transitions import State


@dataclass(frozen=True, slots=True)
class Terms:
    """What the message fixed for all its leases."""

    max_attempts: int
    lease: timedelta
    max_run: timedelta
    max_age: timedelta


@dataclass(frozen=True, slots=True)
class Work:
    """A message's work.

    `token` is that of the last lease and live only while the state is `leased`; `ended` says how it
    ended. `cancel` is the pending order to stop the live lease, `withdrawn` whether that order ends
    the work for good. `held_by` are the causes that keep it from being claimed; `still_since` is when
    its age stopped to count. `reason` is why it is dead.
    """

    terms: Terms
    ready_at: datetime
    state: State = State.READY
    attempts: int = 0
    token: int | None = None
    granted: timedelta | None = None
    until: datetime | None = None
    hard_deadline: datetime | None = None
    give_up_at: datetime | None = None
    ended: str | None = None
    held_by: frozenset[str] = frozenset()
    still_since: datetime | None = None
    cancel: str | None = None
    withdrawn: bool = False
    reason: str | None = None

    @property
    def age_counts(self) -> bool:
        """Whether this time counts toward the give-up age: not while parked or held."""
        return self.state is not State.PARKED and not self.held_by
