"""A stream: one message with its log, and the rows of the projection that follow from both."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sereno.mailbox.lease import CLOSED, State, Work, evolve
from sereno.mailbox.lease.log import deposited, read
from sereno.mailbox.lease.stored import columns_of

_WAIT_TIMES = ("deadline", "remind_at")

Row = Mapping[str, Any]


@dataclass(slots=True)
class Stream:
    """One message while its log is folded: the work, and what the rows of the projection keep besides."""

    message: Row
    work: Work
    read_at: datetime
    row: dict[str, Any] = field(default_factory=dict)
    parked: dict[str, Any] | None = None

    def add(self, event: Row) -> None:
        """Take the next event of the log."""
        happened = read(event)
        if happened is None:
            return
        self.work = evolve(self.work, happened)
        data: Row = event["data"] or {}
        match event["kind"]:
            case "claimed":
                self.row |= {"holder": event["principal"], "incarnation": event["detail"]}
            case "parked":
                self.parked = _parked(event, data)
            case "resumed":
                self.row["answered"] = True
            case "redriven":
                self.row = {"run_id": event["run_id"], "place": data["place"]}
            case "carried":
                self.row |= _carried(data["row"]) | {"run_id": event["run_id"]}
                self.parked = None if data["parked"] is None else _carried_wait(data["parked"])
        if self.work.state is not State.PARKED:
            self.parked = None
        if self.work.state in CLOSED:
            self.row["closed_at"] = self.row.get("closed_at") or event["at"]


def fold(message: Row, events: Iterable[Row], read_at: datetime) -> Stream:
    """The stream after its events, in the order of the log, as it stands at a time of the database's clock."""
    stream = Stream(message, deposited(message), read_at)
    for event in events:
        stream.add(event)
    return stream


def work_row(stream: Stream) -> dict[str, Any]:
    """The row of `mailbox.work` that the log tells, but for its place in its line: `behind` is seen from all of them."""
    message, work = stream.message, stream.work
    same = (
        "tenant_id",
        "id",
        "agent",
        "subscription",
        "serial_key",
        "on_behalf_of",
        "order_key",
        "max_attempts",
        "lease_seconds",
        "max_run_seconds",
        "max_age_seconds",
    )
    return {
        **{name: message[name] for name in same},
        **columns_of(work),
        "run_id": stream.row.get("run_id"),
        "place": stream.row.get("place", message["place"]),
        "behind": False,
        "due": work.state is not State.READY or work.ready_at <= stream.read_at,
        "answered": stream.row.get("answered", False),
        "holder": stream.row.get("holder"),
        "incarnation": stream.row.get("incarnation"),
    }


def dead_row(stream: Stream) -> dict[str, Any]:
    """The row of `mailbox.dead` that the log tells."""
    same = ("tenant_id", "id", "agent", "subscription", "serial_key", "on_behalf_of", "max_attempts")
    return {
        **{name: stream.message[name] for name in same},
        "run_id": stream.row.get("run_id"),
        "reason": stream.work.reason,
        "attempts": stream.work.attempts,
        "token": stream.work.token,
        "ended": stream.work.ended,
        "closed_at": stream.row["closed_at"],
    }


def _parked(event: Row, data: Row) -> dict[str, Any]:
    dependency, after = data.get("dependency"), data.get("remind_after")
    return {
        "waiting_for": event["detail"],
        "question": data.get("question"),
        "options": data.get("options"),
        "dependency": None if dependency is None else UUID(dependency),
        "deadline": event["until"],
        "remind_after": after,
        "remind_at": None if after is None else event["at"] + timedelta(seconds=after),
    }


def _carried(row: Row) -> dict[str, Any]:
    closed = row["closed_at"]
    return {**row, "closed_at": None if closed is None else datetime.fromisoformat(closed)}


def _carried_wait(wait: Row) -> dict[str, Any]:
    times = {name: None if wait[name] is None else datetime.fromisoformat(wait[name]) for name in _WAIT_TIMES}
    dependency = wait["dependency"]
    return {**wait, **times, "dependency": None if dependency is None else UUID(dependency)}
