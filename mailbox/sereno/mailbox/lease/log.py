"""The event log read back: rows of `mailbox.event` as the events that the decider folds."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from sereno.mailbox.lease import events as e
from sereno.mailbox.lease.decider import evolve
from sereno.mailbox.lease.work import Terms, Work

NOT_TRANSITIONS = frozenset({"refused"})
"""Kinds of the log that tell of a work but change nothing of it."""


_READERS: Mapping[str, Callable[[Mapping[str, Any], datetime, Mapping[str, Any]], e.Event]] = {
    "claimed": lambda row, at, data: e.Claimed(at, row["token"], timedelta(seconds=data["lease_seconds"])),
    "renewed": lambda _row, at, _data: e.Renewed(at),
    "acked": lambda _row, at, _data: e.Acked(at),
    "released": lambda _row, at, data: e.Released(
        at, data["reason"], datetime.fromisoformat(data["ready_at"])
    ),
    "expired": lambda _row, at, _data: e.Expired(at),
    "cancelled": lambda _row, at, data: e.Cancelled(at, data["cause"]),
    "died": lambda _row, at, data: e.Died(at, data["reason"], data.get("after")),
    "held": lambda _row, at, data: e.Held(at, data["cause"], data["cancel"]),
    "unheld": lambda _row, at, data: e.Unheld(at, data["cause"]),
    "withdrawn": lambda _row, at, data: e.Withdrawn(at, data["reason"]),
}


def read(row: Mapping[str, Any]) -> e.Event | None:
    """The event of a row with `kind`, `at`, `token` and `data`; None when it changed nothing.

    Raises ValueError for a kind that this version does not know.
    """
    if row["kind"] in NOT_TRANSITIONS:
        return None
    reader = _READERS.get(row["kind"])
    if reader is None:
        raise ValueError(f"the log holds an event {row['kind']!r} that this version cannot read")
    return reader(row, row["at"], row["data"])


def fold(message: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> Work:
    """The work of a message (its immutable row is the first event) after its events, in order of the log."""
    terms = Terms(
        message["max_attempts"],
        timedelta(seconds=message["lease_seconds"]),
        timedelta(seconds=message["max_run_seconds"]),
        timedelta(seconds=message["max_age_seconds"]),
    )
    work = Work(terms, message["ready_at"])
    for row in rows:
        event = read(row)
        work = work if event is None else evolve(work, event)
    return work
