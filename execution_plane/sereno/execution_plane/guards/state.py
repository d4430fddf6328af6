"""Guard state: the rows that the guards remember, and the part of them that bears on one activation.

Each class but the last is one row of a table, written whole; its key is the type beside it.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from sereno.execution_plane.guards.account import Account
from sereno.execution_plane.guards.batch import OpenBatch
from sereno.execution_plane.guards.lineage import Ancestor
from sereno.execution_plane.guards.pause import Pause
from sereno.execution_plane.guards.recent import Recent
from sereno.execution_plane.guards.suspension import Suspension
from sereno.subscriptions.rights import Standing

OccurrenceKey = tuple[str, str, str, str]
"""Tenant, origin, subscription, dedup key."""
SubscriptionKey = tuple[str, str]
"""Tenant, name."""
SubjectKey = tuple[str, str, str]
"""Tenant, subscription, subject of the event."""


class Occurrence(NamedTuple):
    """An earlier receipt of the same logical occurrence, and what became of it."""

    receiptid: str
    outcome: str
    message: UUID | None
    expires_at: datetime


class Memory(NamedTuple):
    """What one subscription leaves for its next event (recorded clock); `arrivals` is None where no storm is watched."""

    last_recorded: datetime | None = None
    last_delivered: datetime | None = None
    deliveries: int = 0
    arrivals: Recent | None = None


class SubjectMemory(NamedTuple):
    """What one subscription remembers of one object: arrivals, who acted last and before, how often they took turns."""

    arrivals: Recent | None = None
    actor: str | None = None
    actor_before: str | None = None
    turns: Recent | None = None


NOTHING = Memory()
NOBODY = SubjectMemory()
NONE_USED: Mapping[Account, Decimal] = {}


class GuardState(NamedTuple):
    """What the guards are told of one activation; this arrival is counted already in `memory` and `subject`.

    `used` holds the accounts of the running periods, `suspension` the open one that concerns this event, `stop` the
    scope of a stop that stands, `pause` what keeps the subscription from waking now, `busy` whether a message of the subscription (and serial key) is still open.
    """

    standing: Standing
    same_key: Occurrence | None = None
    same_body: Occurrence | None = None
    ancestors: tuple[Ancestor, ...] = ()
    memory: Memory = NOTHING
    subject: SubjectMemory = NOBODY
    used: Mapping[Account, Decimal] = NONE_USED
    suspension: Suspension | None = None
    batch: OpenBatch | None = None
    pause: Pause | None = None
    busy: bool = False
    stop: str | None = None
