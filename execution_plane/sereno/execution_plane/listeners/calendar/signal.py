"""The envelope of an occurrence whose time has come (pure)."""

from datetime import datetime
from typing import Any

from sereno.envelope.encode import rfc3339
from sereno.envelope.envelope import Envelope
from sereno.envelope.event import Event
from sereno.envelope.receipt import Receipt, receive
from sereno.envelope.types import CALENDAR_DUE
from sereno.execution_plane.listeners.calendar.followed import Due

_LONGEST_UID = 1_000


def of_occurrence(due: Due, receiptid: str, now: datetime, traceparent: str | None = None) -> Envelope:
    """The signal of one occurrence: `time` is when it was due, `recordedtime` is now.

    Whoever may write to the calendar wrote what it says, so it is not trusted.
    """
    occurrence, origin = due.occurrence, f"calendar/{due.followed.subscription}"
    uid = occurrence.uid[:_LONGEST_UID]
    event = Event(
        id=f"{due.followed.id}/{occurrence.entry.hex()}@{rfc3339(occurrence.anchor)}",
        source=origin,
        type=CALENDAR_DUE,
        time=occurrence.fire,
        subject=uid,
        datacontenttype="application/json",
        data={**_data(due), "uid": uid, "late_seconds": round((now - occurrence.fire).total_seconds(), 3)},
    )
    return receive(
        event,
        Receipt(
            receiptid=receiptid,
            tenantid=due.followed.tenant,
            origin=origin,
            recordedtime=now,
            dedupkey=occurrence.key,
            trust="untrusted",
            traceparent=traceparent,
        ),
    )


def _data(due: Due) -> dict[str, Any]:
    one = due.occurrence
    return {
        **one.facts,
        "trust": "untrusted",
        "recurrence_id": _text(one.recurrence),
        "start": _text(one.start),
        "anchor": due.followed.source.anchor,
        "anchor_time": _text(one.anchor),
        "previous_start": _text(due.previous_start),
        "previous_anchor_time": _text(due.previous_anchor),
    }


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else rfc3339(moment)
