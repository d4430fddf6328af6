"""The delivery part of an explanation: where a message stands, and who held it under which token."""

from collections.abc import Mapping, Sequence
from typing import Any

from sereno.envelope.encode import rfc3339
from sereno.execution_plane.explain.evidence import Row

_ENDS = frozenset({"acked", "released", "expired", "cancelled", "parked", "died"})


def delivery_of(message: Row, events: Sequence[Row]) -> dict[str, Any]:
    """State, attempts and holders of a message, from its row and its log in order."""
    closed = message["closed_at"]
    return {
        "agent": message["agent"],
        "deposited": rfc3339(message["deposited_at"]),
        "state": message["state"],
        "reason": message["reason"],
        "attempts": message["attempts"],
        "max_attempts": message["max_attempts"],
        "held_by": list(message["held_by"]),
        "closed": None if closed is None else rfc3339(closed),
        "holders": holders(events),
    }


def holders(events: Sequence[Row]) -> list[dict[str, Any]]:
    """One entry a lease: its token, who took it and when, how often it was renewed, how it ended."""
    leases: dict[int, dict[str, Any]] = {}
    for event in events:
        token = event["token"]
        if token is None:
            continue
        if event["kind"] == "claimed":
            leases[token] = _claimed(event)
        elif token in leases:
            _go_on(leases[token], event)
    return list(leases.values())


def _claimed(event: Row) -> dict[str, Any]:
    data: Mapping[str, Any] = event["data"]
    return {
        "token": event["token"],
        "holder": event["principal"],
        "incarnation": data.get("incarnation"),
        "claimed": rfc3339(event["at"]),
        "renewals": 0,
        "ended": None,
        "ended_at": None,
        "refused": 0,
    }


def _go_on(lease: dict[str, Any], event: Row) -> None:
    if event["kind"] == "renewed":
        lease["renewals"] += 1
    elif event["kind"] == "refused":
        lease["refused"] += 1
    elif event["kind"] in _ENDS and lease["ended"] is None:
        lease["ended"], lease["ended_at"] = event["kind"], rfc3339(event["at"])
