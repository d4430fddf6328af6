"""A row of the projection as the work it stands for, and a work as the columns of such a row."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sereno.mailbox.lease.transitions import State
from sereno.mailbox.lease.work import Terms, Work


def terms_of(message: Mapping[str, Any]) -> Terms:
    """What the immutable message fixed."""
    return Terms(
        message["max_attempts"],
        timedelta(seconds=message["lease_seconds"]),
        timedelta(seconds=message["max_run_seconds"]),
        timedelta(seconds=message["max_age_seconds"]),
    )


def work_of(row: Mapping[str, Any], terms: Terms) -> Work:
    """The work of a row of `mailbox.work`."""
    granted = row["granted_seconds"]
    return Work(
        terms=terms,
        ready_at=row["ready_at"],
        state=State(row["state"]),
        attempts=row["attempts"],
        token=row["token"],
        granted=None if granted is None else timedelta(seconds=granted),
        until=row["leased_until"],
        hard_deadline=row["hard_deadline"],
        give_up_at=row["give_up_at"],
        ended=row["ended"],
        held_by=frozenset(row["held_by"] or ()),
        still_since=row["still_since"],
        cancel=row["cancel"],
        withdrawn=row["cancel_to"] == "dead",
    )


def columns_of(work: Work) -> dict[str, Any]:
    """The columns of `mailbox.work` that follow from the work."""
    return {
        "state": str(work.state),
        "ready_at": work.ready_at,
        "attempts": work.attempts,
        "token": work.token,
        "granted_seconds": None if work.granted is None else work.granted.total_seconds(),
        "leased_until": work.until,
        "hard_deadline": work.hard_deadline,
        "give_up_at": work.give_up_at,
        "ended": work.ended,
        "held_by": sorted(work.held_by) or None,
        "still_since": work.still_since,
        "cancel": work.cancel,
        "cancel_to": None if work.cancel is None else "dead" if work.withdrawn else "ready",
    }
