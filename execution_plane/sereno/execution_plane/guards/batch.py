"""A batch: novelties that wait for each other and become one message (open_batch and batch_item rows)."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

from sereno.envelope.identifiers import RANDOM_BYTES, uuid7
from sereno.execution_plane.guards.lineage import Ancestor

BatchKey = tuple[str, str, str]
"""Tenant, subscription, key; an event without a key is in the batch of the empty one."""
LARGEST_BATCH = 1_000
"""Items of a batch for which the subscription sets no limit."""
HEAVIEST_BATCH = 1_048_576
"""Bytes of a batch for which the subscription sets no limit."""


class BatchLimits(NamedTuple):
    """How long and how large; `window` counts from the first item. Items of cooldowns and quiet hours alone have none."""

    window: timedelta = timedelta()
    max_wait: timedelta | None = None
    max_items: int = LARGEST_BATCH
    max_bytes: int = HEAVIEST_BATCH


class BatchItem(NamedTuple):
    """One event of a batch; items are only ever added, and `place` counts them from 1."""

    batch: UUID
    place: int
    receiptid: str
    attributes: Mapping[str, Any]
    ancestors: tuple[Ancestor, ...]


class OpenBatch(NamedTuple):
    """One row: a batch that is not a message yet. `opened` is the database clock at its first item.

    A sealed one takes no more items: it is full. There is one that is not sealed for each key.
    """

    id: UUID
    tenant: str
    subscription: str
    key: str
    opened: datetime
    items: int
    size: int
    ancestors: tuple[Ancestor, ...]
    sealed: bool = False
    serial_key: str | None = None

    @property
    def of(self) -> BatchKey:
        """The key under which the next event finds it."""
        return self.tenant, self.subscription, self.key


def batch_id(tenant: str, receiptid: str, subscription: str, at: datetime) -> UUID:
    """The same UUIDv7 for the same first event, however often it is decided."""
    digest = sha256(f"batch\0{tenant}\0{receiptid}\0{subscription}".encode()).digest()
    return uuid7(max(0, int(at.timestamp() * 1000)), digest[:RANDOM_BYTES])
