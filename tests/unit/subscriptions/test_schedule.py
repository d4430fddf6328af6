"""When a time source fires."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.subscriptions.models import TimeSource
from sereno.subscriptions.schedule import EPOCH, first_after, instants, last_before

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def source(**fields: object) -> TimeSource:
    return TimeSource.model_validate(fields)


def test_a_one_shot_fires_once() -> None:
    once = source(at="2026-12-01T13:00:00+01:00")
    assert first_after(once, NOON - SECOND) == NOON
    assert first_after(once, NOON) is None
    assert list(instants(once, NOON - SECOND, NOON + SECOND)) == [NOON]
    assert list(instants(once, NOON - SECOND, NOON)) == []
    assert last_before(once, NOON) is None
    assert last_before(once, NOON + SECOND) == NOON


def test_an_interval_counts_from_its_start() -> None:
    every = source(every="7m", start="2026-12-01T12:00:00Z")
    assert first_after(every, NOON - timedelta(days=400)) == NOON
    assert first_after(every, NOON) == NOON + timedelta(minutes=7)
    assert list(instants(every, NOON - SECOND, NOON + timedelta(minutes=21))) == [
        NOON,
        NOON + timedelta(minutes=7),
        NOON + timedelta(minutes=14),
    ]
    assert last_before(every, NOON) is None
    assert last_before(every, NOON + timedelta(minutes=7)) == NOON


def test_without_a_start_an_interval_falls_on_round_times() -> None:
    found = islice(instants(source(every="10m"), NOON, NOON + timedelta(days=1)), 2)
    assert list(found) == [NOON + timedelta(minutes=10), NOON + timedelta(minutes=20)]


def test_the_end_of_time_ends_an_interval() -> None:
    every = source(every="7d", start="9999-12-25T00:00:00Z")
    assert first_after(every, datetime(9999, 12, 30, tzinfo=UTC)) is None
    assert first_after(source(every="3000d"), datetime(9998, 1, 1, tzinfo=UTC)) is None


def test_other_rules_are_not_guessed() -> None:
    rule = source(rrule="FREQ=DAILY", dtstart="2026-12-01T09:00:00", zone="Europe/Madrid")
    for ask in (first_after, last_before):
        with pytest.raises(ValueError, match="expected a one-shot"):
            ask(rule, NOON)


moments = st.timedeltas(timedelta(days=3650), timedelta(days=45_000)).map(lambda since: EPOCH + since)
lengths = st.timedeltas(timedelta(seconds=60), timedelta(days=90))


@given(lengths, moments, moments)
def test_first_and_last_are_neighbours_on_the_grid(
    every: timedelta, start: datetime, moment: datetime
) -> None:
    spec = TimeSource(every=every, start=start)
    after, before = first_after(spec, moment), last_before(spec, moment)
    assert after is not None
    assert after > moment
    assert (after - start) % every == timedelta()
    if before is not None:
        assert before < moment
        assert after - before in (every, 2 * every)
    assert all(b - a == every for a, b in pairwise(islice(instants(spec, moment, moment + 5 * every), 5)))
