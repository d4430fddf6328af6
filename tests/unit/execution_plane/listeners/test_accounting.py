"""Given a history of due instants, when it is held against the rules, then exactly what does not add up is found."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sereno.execution_plane.listeners.accounting import Account, Recorded, findings
from sereno.execution_plane.listeners.schedule import MAX_COUNTED, Misfire, Schedule, advance, begun
from sereno.subscriptions.models.source import TimeSource

START = datetime(2026, 10, 24, 0, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
RULES: tuple[dict[str, Any], ...] = (
    {"every": "90s"},
    {"cron": "*/7 * * * *", "zone": "Europe/Madrid"},
    {"rrule": "FREQ=HOURLY", "dtstart": "2026-10-24T00:10", "zone": "America/New_York"},
    {"rrule": "FREQ=DAILY;BYHOUR=2;BYMINUTE=0,30", "dtstart": "2026-10-20T02:00", "zone": "Europe/Madrid"},
)


def schedule(fields: dict[str, Any], misfire: Misfire = "latest") -> Schedule:
    source = TimeSource.model_validate(fields)
    new = Schedule("acme", "s-1", "tick", 1, source, misfire, paused=False, expires=None, next_due=None)
    return begun(new, START, None)


def lived(start: Schedule, looks: list[int]) -> tuple[list[Recorded], Schedule, datetime]:
    """The history that a schedule leaves when it is looked at after these pauses, in seconds."""
    now, history, current = START, [], start
    for seconds in looks:
        now += seconds * SECOND
        while True:
            step = advance(current, now)
            current = step.schedule
            if step.skipped is not None:
                run = step.skipped
                history.append(Recorded(run.last, run.first, run.count, 1, None, "skipped", run.reason))
            history += [Recorded(i, i, 1, 1, now, "delivered", "delivered") for i in step.emit]
            if not step.emit and step.skipped is None:
                break
    return sorted(history, key=lambda record: record.instant), current, now


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(RULES),
    st.sampled_from(("skip", "latest", "all")),
    st.lists(st.integers(1, 40_000), min_size=1, max_size=6),
    st.data(),
)
def test_whatever_happened_adds_up_until_one_record_is_taken_away(
    fields: dict[str, Any], misfire: Misfire, looks: list[int], data: st.DataObject
) -> None:
    begin = schedule(fields, misfire)
    history, current, now = lived(begin, looks)
    account = Account(history, {1: begin.source}, current)
    assert list(findings(account, now)) == []
    if len(history) > 2:
        index = data.draw(st.integers(1, len(history) - 2))
        gone = replace(account, history=[*history[:index], *history[index + 1 :]])
        assert [found.kind for found in findings(gone, now)] == ["missing"]
        again = replace(account, history=[*history[: index + 1], *history[index:]])
        assert "twice" in {found.kind for found in findings(again, now)}


def test_a_week_of_missed_minutes_is_counted_over_several_turns() -> None:
    minutely = schedule({"rrule": "FREQ=MINUTELY", "dtstart": "2026-10-24T00:00", "zone": "UTC"}, "latest")
    history, current, now = lived(minutely, [8 * 24 * 3600])
    # The last minute is due at this very moment, so nothing needs to be saved.
    assert [record.count for record in history] == [MAX_COUNTED, 8 * 24 * 60 - MAX_COUNTED, 1]
    assert list(findings(Account(history, {1: minutely.source}, current), now)) == []


@pytest.mark.parametrize(
    ("outcome", "late", "end"),
    [
        ("delivered", 0, "fired"),
        ("delivered", 6, "late"),
        ("merged", 6, "merged"),
        ("held", 0, "held"),
        ("dropped", 0, "refused"),
        ("error", 0, "refused"),
        (None, 0, "pending"),
    ],
)
def test_how_an_instant_ended(outcome: str | None, late: int, end: str) -> None:
    assert Recorded(START, START, 1, 1, START + late * SECOND, outcome, None).end == end


def test_an_index_that_stands_still_or_astray_is_found() -> None:
    hourly = schedule({"every": "1h"})
    later = START + HOUR
    assert [found.kind for found in findings(Account([], {}, hourly), later)] == ["overdue"]
    assert list(findings(Account([], {}, hourly, held=True), later)) == []
    astray = replace(hourly, next_due=START + 9 * HOUR)
    assert [found.kind for found in findings(Account([], {}, astray), later)] == ["astray"]


def test_a_signal_without_an_outcome_is_found_after_a_minute() -> None:
    hourly = schedule({"every": "1h"})
    history = [Recorded(START, START, 1, 1, START, None, None)]
    account = Account(history, {1: hourly.source}, begun(hourly, START, START))
    assert list(findings(account, START + MINUTE)) == []
    assert [found.kind for found in findings(account, START + MINUTE + SECOND)] == ["undecided"]
