"""The suspension part of an explanation: what stands still since when, and who ended it."""

from collections.abc import Mapping
from typing import Any

from sereno.envelope.encode import rfc3339
from sereno.envelope.identifiers import to_people
from sereno.execution_plane.guards.suspension import Suspension, sentence


def suspension_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The stored suspension for people; `waiting` counts the events that it still holds."""
    ended = row["ended_at"]
    return {
        "id": to_people("sus", row["id"]),
        "subscription": row["subscription"],
        "cause": row["cause"],
        "subject": row["subject"],
        "since": rfc3339(row["at"]),
        "numbers": row["numbers"],
        "waiting": row["waiting"],
        "ended": None if ended is None else rfc3339(ended),
        "ended_by": row["ended_by"],
        "reason": row["reason"],
        "held": row["held"],
    }


def told(row: Mapping[str, Any]) -> str:
    """What its owner was told, and whether it still stands."""
    why = sentence(
        Suspension(
            row["id"],
            row["tenant_id"],
            row["subscription"],
            row["cause"],
            row["at"],
            row["receiptid"],
            row["numbers"],
            row["subject"],
        )
    )
    if row["ended_at"] is None:
        return f"{why}; {row['waiting']} events wait since {rfc3339(row['at'])}"
    because = "" if row["reason"] is None else f" ({row['reason']})"
    return f"{why}; {row['ended_by']} lifted it at {rfc3339(row['ended_at'])}{because}, held: {row['held']}"
