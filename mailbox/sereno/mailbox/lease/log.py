"""The event log read back: rows of `mailbox.event` as the events that the decider folds."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any

from sereno.mailbox.lease import carry
from sereno.mailbox.lease import events as e
from sereno.mailbox.lease.decider import evolve
from sereno.mailbox.lease.stored import terms_of
from sereno.mailbox.lease.work import Work

NOT_TRANSITIONS = frozenset({"refused", "emitted"})
"""Kinds of the log that tell of a work but change nothing of it."""

Row = Mapping[str, Any]
"""A row of the log; what its columns mean depends on the kind."""

_READERS: Mapping[str, Callable[[Row], e.Event]] = {
    "claimed": lambda row: e.Claimed(row["at"], row["token"], timedelta(seconds=row["seconds"])),
    "renewed": lambda row: e.Renewed(row["at"]),
    "acked": lambda row: e.Acked(row["at"]),
    "released": lambda row: e.Released(row["at"], row["detail"], row["until"]),
    "expired": lambda row: e.Expired(row["at"]),
    "cancelled": lambda row: e.Cancelled(row["at"], row["detail"]),
    "parked": lambda row: e.Parked(row["at"], row["detail"]),
    "resumed": lambda row: e.Resumed(row["at"]),
    "died": lambda row: e.Died(row["at"], row["detail"], (row["data"] or {}).get("after")),
    "held": lambda row: e.Held(row["at"], row["detail"], row["data"]["cancel"]),
    "unheld": lambda row: e.Unheld(row["at"], row["detail"]),
    "withdrawn": lambda row: e.Withdrawn(row["at"], row["detail"]),
    "redriven": lambda row: e.Redriven(row["at"]),
    "carried": lambda row: e.Carried(row["at"], carry.loads(row["data"])),
}

KINDS = frozenset(_READERS) | NOT_TRANSITIONS
"""Every kind of event that the log holds."""


def read(row: Row) -> e.Event | None:
    """The event of a row; None when it changed nothing.

    Raises ValueError for a kind that this version does not know.
    """
    if row["kind"] in NOT_TRANSITIONS:
        return None
    reader = _READERS.get(row["kind"])
    if reader is None:
        raise ValueError(f"the log holds an event {row['kind']!r} that this version cannot read")
    return reader(row)


def deposited(message: Row) -> Work:
    """The work of a message before anything happened to it: its immutable row is the event of its deposit."""
    return Work(terms_of(message), message["ready_at"])


def fold(message: Row, rows: Iterable[Row]) -> Work:
    """The work of a message after its events, in order of the log."""
    work = deposited(message)
    for row in rows:
        event = read(row)
        work = work if event is None else evolve(work, event)
    return work
