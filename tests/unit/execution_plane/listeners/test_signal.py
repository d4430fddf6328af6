from datetime import UTC, datetime, timedelta

import pytest

from sereno.execution_plane.listeners.schedule import Schedule
from sereno.execution_plane.listeners.signal import of_instant
from sereno.subscriptions.models.source import TimeSource

INSTANT = datetime(2026, 11, 30, 10, tzinfo=UTC)


@pytest.mark.req(38, 39)
def test_a_signal_says_when_it_was_due_apart_from_when_it_was_recorded() -> None:
    source = TimeSource(at=INSTANT)
    schedule = Schedule(
        "acme", "5f8a", "tick", 3, source, "latest", paused=False, expires=None, next_due=None
    )
    now = INSTANT + timedelta(seconds=2.5)
    envelope = of_instant(schedule, INSTANT, "0190b0c0-0000-7000-8000-000000000000", now)
    assert (envelope.type, envelope.origin, envelope.trust) == ("sereno.time.due", "time/tick", "platform")
    assert (envelope.time, envelope.recordedtime) == (INSTANT, now)
    assert envelope.dedupkey == "time:5f8a@2026-11-30T10:00:00Z"
    assert envelope.id == "5f8a@2026-11-30T10:00:00Z"
    assert envelope.data == {"instant": "2026-11-30T10:00:00Z", "late_seconds": 2.5}
