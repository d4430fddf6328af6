"""Given a schedule, when the clock shows a time, then these instants are emitted and those are left out."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.execution_plane.listeners.schedule import (
    MAX_SIGNALS,
    Misfire,
    Schedule,
    Skipped,
    advance,
    of_object,
    reconcile,
)
from sereno.subscriptions.models.source import TimeSource
from sereno.subscriptions.snapshot import CatalogObject

START = datetime(2026, 11, 30, 10, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


def every(interval: timedelta, misfire: Misfire = "latest", **changed: Any) -> Schedule:
    source = TimeSource(every=interval, start=START)
    schedule = Schedule("acme", "s-1", "tick", 1, source, misfire, paused=False, expires=None, next_due=START)
    return replace(schedule, **changed)


def once(misfire: Misfire = "latest") -> Schedule:
    return replace(every(HOUR, misfire), source=TimeSource(at=START))


def test_nothing_is_due_before_its_time() -> None:
    step = advance(once(), START - SECOND)
    assert (step.emit, step.skipped, step.schedule.next_due) == ((), None, START)


def test_a_one_shot_fires_at_its_instant_and_never_again() -> None:
    step = advance(once(), START)
    assert (step.emit, step.skipped, step.schedule.next_due) == ((START,), None, None)
    assert advance(step.schedule, START + HOUR).emit == ()


def test_an_interval_goes_on_to_the_next_instant() -> None:
    step = advance(every(MINUTE), START + SECOND)
    assert step.emit == (START,)
    assert step.schedule.next_due == START + MINUTE


def test_instants_that_are_a_little_late_are_all_emitted() -> None:
    step = advance(every(SECOND, "skip"), START + 3 * SECOND)
    assert step.emit == tuple(START + n * SECOND for n in range(4))
    assert step.skipped is None


class TestMisfire:
    now = START + 78 * MINUTE + 6 * SECOND
    # 10:00:00 to 11:18:00 in steps of 10 s, the last of them 6 s ago.
    instants = 78 * 6 + 1
    last = START + 78 * MINUTE

    def test_skip_replays_nothing_and_leaves_one_record(self) -> None:
        step = advance(every(10 * SECOND, "skip"), self.now)
        assert step.emit == ()
        assert step.skipped == Skipped(START, self.last, self.instants, "misfire")
        assert step.schedule.next_due == self.last + 10 * SECOND

    def test_latest_saves_the_last(self) -> None:
        step = advance(every(10 * SECOND, "latest"), self.now)
        assert step.emit == (self.last,)
        assert step.skipped == Skipped(START, self.last - 10 * SECOND, self.instants - 1, "misfire")

    def test_latest_saves_none_when_a_newer_one_is_due_anyway(self) -> None:
        step = advance(every(10 * SECOND, "latest"), self.last + 11 * SECOND)
        assert step.emit == (self.last + 10 * SECOND,)
        assert step.skipped == Skipped(START, self.last, self.instants, "misfire")

    def test_all_emits_each_of_them(self) -> None:
        step = advance(every(10 * SECOND, "all"), self.now)
        assert step.emit == tuple(START + n * 10 * SECOND for n in range(self.instants))
        assert step.skipped is None

    def test_all_goes_on_where_one_turn_ended(self) -> None:
        first = advance(every(SECOND, "all"), self.now)
        assert len(first.emit) == MAX_SIGNALS
        second = advance(first.schedule, self.now)
        assert second.emit[0] == first.emit[-1] + SECOND

    @pytest.mark.parametrize(("misfire", "emitted"), [("skip", ()), ("latest", (START,)), ("all", (START,))])
    def test_a_missed_one_shot(self, misfire: Misfire, emitted: tuple[datetime, ...]) -> None:
        step = advance(once(misfire), START + HOUR)
        assert step.emit == emitted
        assert step.skipped == (None if emitted else Skipped(START, START, 1, "misfire"))
        assert step.schedule.next_due is None

    def test_a_long_absence_costs_no_more_than_a_short_one(self) -> None:
        step = advance(every(SECOND, "skip"), START + timedelta(days=3650))
        assert step.skipped is not None
        assert step.skipped.count > 300_000_000


def test_instants_inside_a_pause_are_skipped_and_recorded() -> None:
    step = advance(every(MINUTE, "all", paused=True), START + 3 * MINUTE)
    assert step.emit == ()
    assert step.skipped == Skipped(START, START + 3 * MINUTE, 4, "paused")
    assert step.schedule.next_due == START + 4 * MINUTE


def test_nothing_fires_from_the_expiry_on() -> None:
    ending = every(MINUTE, "all", expires=START + 2 * MINUTE)
    step = advance(ending, START + HOUR)
    assert step.emit == (START, START + MINUTE)
    assert step.schedule.next_due is None


@given(
    interval=st.integers(1, 900),
    misfire=st.sampled_from(["skip", "latest", "all"]),
    looks=st.lists(st.integers(0, 3000), min_size=1, max_size=12),
)
def test_each_instant_ends_once_as_emitted_or_skipped(interval: int, misfire: Any, looks: list[int]) -> None:
    schedule, now, skipped = every(interval * SECOND, misfire), START, 0
    emitted: list[datetime] = []
    for seconds in looks:
        now += seconds * SECOND
        while True:
            step = advance(schedule, now)
            emitted += step.emit
            skipped += step.skipped.count if step.skipped else 0
            schedule = step.schedule
            if not step.emit and not step.skipped:
                break
    assert sorted(set(emitted)) == emitted
    assert len(emitted) + skipped == (now - START) // (interval * SECOND) + 1
    assert schedule.next_due is not None
    assert schedule.next_due > now


def declared(time: dict[str, Any], state: str = "active", **spec: Any) -> CatalogObject:
    return CatalogObject(
        kind="Subscription",
        tenant="acme",
        name="tick",
        id=str(uuid4()),
        version=1,
        state=state,
        spec={
            "owner": "user:marta",
            "agent": "agent:a",
            "instruction": "Go.",
            "source": {"time": time},
            **spec,
        },
        created_by="user:admin",
        updated_at=START,
    )


def test_a_declaration_counts_from_the_moment_it_was_made() -> None:
    found = of_object(declared({"every": "1h", "start": "2026-11-30T09:30:00Z"}))
    assert found is not None
    assert found.next_due == START + 30 * MINUTE
    one_shot = of_object(declared({"at": "2026-11-30T10:00:00Z"}))
    assert one_shot is not None
    assert one_shot.next_due == START


@pytest.mark.parametrize(
    "state", ["draft", "pending_approval", "rejected", "expired", "exhausted", "deleted"]
)
def test_what_may_not_fire_has_no_schedule(state: str) -> None:
    assert of_object(declared({"every": "1h"}, state)) is None


def test_an_edit_of_the_text_keeps_how_far_it_came() -> None:
    old = advance(every(HOUR), START).schedule
    edited = replace(every(HOUR), version=2, next_due=START + 5 * HOUR)
    kept = reconcile(old, edited)
    assert (kept.version, kept.next_due, kept.last_instant) == (2, START + HOUR, START)


def test_an_edit_of_the_rule_is_counted_anew() -> None:
    old = advance(every(HOUR), START).schedule
    edited = replace(every(3 * HOUR), version=2)
    fresh = reconcile(old, edited)
    fired: list[datetime] = []
    for _ in range(3):
        assert fresh.next_due is not None
        step = advance(fresh, fresh.next_due)
        fired += step.emit
        fresh = step.schedule
    assert fired == [START + 3 * HOUR, START + 6 * HOUR, START + 9 * HOUR]


def test_a_later_expiry_lets_it_go_on() -> None:
    ended = advance(every(HOUR, expires=START + HOUR), START).schedule
    assert ended.next_due is None
    assert reconcile(ended, every(HOUR, expires=START + 9 * HOUR)).next_due == START + HOUR
