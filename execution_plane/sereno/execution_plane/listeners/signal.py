"""The envelope of an instant that is due (pure)."""

from datetime import datetime

from sereno.envelope import dedup_key
from sereno.envelope.encode import rfc3339
from sereno.envelope.envelope import Envelope
from sereno.envelope.event import Event
from sereno.envelope.receipt import Receipt, receive
from sereno.envelope.types import TIME_DUE
from sereno.execution_plane.listeners.schedule import Schedule


def of_instant(
    schedule: Schedule, instant: datetime, receiptid: str, now: datetime, traceparent: str | None = None
) -> Envelope:
    """The signal of one instant: `time` is the nominal instant, `recordedtime` is now."""
    origin = f"time/{schedule.subscription}"
    event = Event(
        id=f"{schedule.id}@{rfc3339(instant)}",
        source=origin,
        type=TIME_DUE,
        time=instant,
        datacontenttype="application/json",
        data={"instant": rfc3339(instant), "late_seconds": round((now - instant).total_seconds(), 3)},
    )
    return receive(
        event,
        Receipt(
            receiptid=receiptid,
            tenantid=schedule.tenant,
            origin=origin,
            recordedtime=now,
            dedupkey=dedup_key.of_instant(schedule.id, instant),
            trust="platform",
            traceparent=traceparent,
        ),
    )
