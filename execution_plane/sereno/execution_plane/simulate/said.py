"""What a simulation prints: one JSON object for each thing that happened."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from sereno.envelope.encode import rfc3339
from sereno.execution_plane.guards.verdict import Numbers
from sereno.execution_plane.pipeline.matcher import Miss
from sereno.execution_plane.simulate.mailbox import Lease

Output = dict[str, Any]
# Many lines in a row are of one moment.
_told = lru_cache(maxsize=64)(rfc3339)


def decision(
    at: datetime,
    event: str,
    subscription: str,
    *,
    outcome: str,
    guard: str,
    reason: str,
    message: str | None = None,
    batch: str | None = None,
    numbers: Mapping[str, Any] | None = None,
) -> Output:
    """What became of one event for one subscription."""
    return {
        "kind": "decision",
        "at": _told(at),
        "event": event,
        "subscription": subscription,
        "outcome": outcome,
        "guard": guard,
        "reason": reason,
        "message": message,
        "batch": batch,
        "numbers": numbers or {},
    }


def not_matched(at: datetime, event: str, subscription: str, why: Miss) -> Output:
    """Why an event did not concern a subscription."""
    return decision(
        at,
        event,
        subscription,
        outcome="not_matched",
        guard="match",
        reason=why.part,
        numbers={"expected": why.expected, "found": why.found},
    )


def flush(at: datetime, subscription: str, batch: str, events: Sequence[str], message: str) -> Output:
    """A batch became a message."""
    return {
        "kind": "flush",
        "at": _told(at),
        "subscription": subscription,
        "batch": batch,
        "events": list(events),
        "message": message,
    }


def state(at: datetime, subscription: str, now: str, reason: str | None) -> Output:
    """A subscription stands otherwise than before."""
    return {"kind": "state", "at": _told(at), "subscription": subscription, "state": now, "reason": reason}


def claim(at: datetime, agent: str, leases: Sequence[Lease]) -> Output:
    """What a worker was given."""
    return {
        "kind": "claim",
        "at": _told(at),
        "agent": agent,
        "messages": [lease.message for lease in leases],
        "leases": [lease.lease for lease in leases],
    }


def lease(at: datetime, name: str, status: str) -> Output:
    """What a verb on a lease was answered."""
    return {"kind": "lease", "at": _told(at), "lease": name, "status": status}


def named(numbers: Numbers, names: Mapping[UUID, str], own: str | None) -> Mapping[str, Any]:
    """The numbers with messages and batches under the names that the simulation gives them; `own` is that of what the
    event itself became or joined.
    """
    if own is not None:
        return {**numbers, ("message" if "message" in numbers else "batch"): own}
    for name in ("message", "batch"):
        value = numbers.get(name)
        if isinstance(value, UUID):
            return {**numbers, name: names[value] if value in names else str(value)}
    return numbers
