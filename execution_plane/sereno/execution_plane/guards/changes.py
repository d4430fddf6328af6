"""Changes: what a decision writes, one value a row; the shell groups them by kind and writes each kind at once."""

from datetime import datetime
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from sereno.execution_plane.guards.account import Account
from sereno.execution_plane.guards.batch import BatchItem, OpenBatch
from sereno.execution_plane.guards.budget import Line, Reservation
from sereno.execution_plane.guards.condition import Evaluation
from sereno.execution_plane.guards.patience import Patience
from sereno.execution_plane.guards.state import (
    Memory,
    Occurrence,
    OccurrenceKey,
    SubjectKey,
    SubjectMemory,
    SubscriptionKey,
)
from sereno.execution_plane.guards.suspension import Suspension

WorkKey = tuple[str, str, str]
"""Tenant, subscription, serial key: whose open messages are counted for `when_busy`."""


class Remember(NamedTuple):
    """subscription_state: the whole row."""

    key: SubscriptionKey
    memory: Memory


class RememberSubject(NamedTuple):
    """subject_state: the whole row."""

    key: SubjectKey
    memory: SubjectMemory


class RememberPatience(NamedTuple):
    """evaluation_patience: the whole row."""

    key: SubscriptionKey
    patience: Patience


class Take(NamedTuple):
    """dedup: the key with what became of it."""

    key: OccurrenceKey
    occurrence: Occurrence


class Reserve(NamedTuple):
    """budget_reservation: a new row, and its lines added to budget."""

    reservation: Reservation


class Charge(NamedTuple):
    """budget: an amount to add (below zero: to give back)."""

    account: Account
    amount: Decimal


class Settled(NamedTuple):
    """budget_reservation: the row after usage was reported or given back; without lines it is done, and `kept` stays."""

    reservation: Reservation
    kept: tuple[Line, ...] = ()


class Join(NamedTuple):
    """open_batch: the whole row; batch_item: a new one."""

    batch: OpenBatch
    item: BatchItem


class Seal(NamedTuple):
    """open_batch: this one takes no more items."""

    batch: OpenBatch


class Close(NamedTuple):
    """open_batch: gone, its items with it; `message` is what it became, None when it was dropped for `reason`.

    `delivered` is when it became that, by the clock of its subscription.
    """

    batch: OpenBatch
    message: UUID | None
    reason: str
    delivered: datetime | None = None


class Suspend(NamedTuple):
    """suspension: a new row, one notice to the owner, and the messages of the subscription not claimable."""

    suspension: Suspension


class Hold(NamedTuple):
    """held: the receipt waits for a person, the end of a stop or a new manifest, and enters again at guard 3."""

    tenant: str
    subscription: str
    receiptid: str
    cause: str
    suspension: UUID | None


class Evaluate(NamedTuple):
    """evaluation: a candidate to be judged, leased by an evaluator."""

    evaluation: Evaluation


class Deposit(NamedTuple):
    """One message more that is open for `when_busy`; its envelopes and limits follow from the passage or the flush."""

    key: WorkKey
    message: UUID


Change = (
    Remember
    | RememberSubject
    | RememberPatience
    | Take
    | Reserve
    | Charge
    | Settled
    | Join
    | Seal
    | Close
    | Suspend
    | Hold
    | Evaluate
    | Deposit
)
