"""Domain events of the catalog: one about to be recorded, and one as it stands in the store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class NewEvent:
    """A domain event that a decider wants recorded."""

    type: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """A domain event as the store keeps it, its data lifted to the current version; no position until it is stored."""

    position: int | None
    tenant: str
    stream: str
    version: int
    type: str
    data: Mapping[str, Any]
    actor: str
    reason: str | None
    recorded: datetime


def record(
    events: Sequence[NewEvent],
    *,
    tenant: str,
    stream: str,
    revision: int,
    actor: str,
    reason: str | None,
    recorded: datetime,
) -> tuple[RecordedEvent, ...]:
    """The events as they will stand in the stream after `revision`."""
    return tuple(
        RecordedEvent(None, tenant, stream, version, event.type, event.data, actor, reason, recorded)
        for version, event in enumerate(events, revision + 1)
    )
