"""Storms: given how many came, when one more comes, then whether it leaves; and what a person's word begins anew."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.execution_plane.guards import Ledger, Moment, Passage
from sereno.execution_plane.guards.recent import MOST_MOMENTS, Recent, counted
from sereno.execution_plane.guards.resumption import resume
from sereno.execution_plane.guards.subscription import Subscription
from tests.passages import NOON, activation, received, subscription

MINUTE = timedelta(minutes=1)
WINDOW = MINUTE


def recent_of(seconds: Sequence[float], window: timedelta = WINDOW) -> Recent:
    recent: Recent | None = None
    for second in seconds:
        recent = counted(recent, NOON + timedelta(seconds=second), window)
    assert recent is not None
    return recent


class TestRecent:
    @pytest.mark.parametrize(
        ("seconds", "total"),
        [((0,), 1), ((0, 0, 0), 3), ((0, 59.999), 2), ((0, 60), 1), ((0, 29, 31, 61), 3), ((0, 30, 300), 1)],
    )
    def test_a_window_ends_now_wherever_it_begins(self, seconds: Sequence[float], total: int) -> None:
        assert recent_of(seconds).total == total

    def test_another_window_begins_anew(self) -> None:
        assert counted(recent_of([0] * 9), NOON, 60 * MINUTE).total == 1

    @given(st.lists(st.floats(0, 600, allow_nan=False), min_size=1, max_size=200))
    def test_few_are_counted_exactly(self, seconds: list[float]) -> None:
        moments = [NOON + timedelta(seconds=second) for second in sorted(seconds)]
        last = moments[-1]
        assert recent_of(sorted(seconds)).total == sum(last - one < WINDOW for one in moments)

    def test_of_many_none_is_forgotten_early_and_few_are_remembered_long(self) -> None:
        seconds = [number * 0.01 for number in range(20_000)]
        recent = recent_of(seconds)
        exact = sum(seconds[-1] - one < 60 for one in seconds)
        assert exact <= recent.total <= exact * 1.01
        assert len(recent.moments) <= 2 * MOST_MOMENTS


def arrivals(ledger: Ledger, watch: Subscription, offsets: Sequence[float], **envelope: Any) -> list[Passage]:
    said = []
    for number, offset in enumerate(offsets):
        event = received(
            number,
            event_id=f"e-{offset}-{number}-{len(ledger.occurrences)}",
            after=timedelta(seconds=offset),
            **envelope,
        )
        said.append(ledger.decide(activation(event, watch), watch, Moment(NOON + timedelta(seconds=offset))))
    return said


STORMY = subscription(limits={"storm": {"threshold": "20/min"}})


@pytest.mark.req(106, 154)
@given(st.lists(st.floats(0, 600, allow_nan=False), max_size=120))
def test_at_most_the_threshold_leaves_per_window(offsets: list[float]) -> None:
    said = arrivals(Ledger(), STORMY, sorted(offsets))
    delivered = [p.given.clock.recorded for p in said if p.decided.outcome == "delivered"]
    assert all(sum(timedelta() <= end - one < WINDOW for one in delivered) <= 20 for end in delivered)
    assert [p.decided.outcome for p in said].count("suspended") <= 1
    tripped = next((place for place, p in enumerate(said) if p.decided.outcome == "suspended"), None)
    if tripped is not None:
        assert {p.decided.outcome for p in said[tripped + 1 :]} <= {"held"}


def test_a_burst_around_the_end_of_a_minute_is_one_window() -> None:
    said = arrivals(Ledger(), STORMY, [59.0] * 15 + [61.0] * 15)
    assert [p.decided.outcome for p in said].count("delivered") == 20


def test_arrivals_are_counted_before_the_guards_so_duplicates_count_too() -> None:
    ledger = Ledger()
    for number in range(20):
        event = received(number, event_id="same")
        ledger.decide(activation(event, STORMY), STORMY, Moment(NOON))
    event = received(99, event_id="other")
    assert ledger.decide(activation(event, STORMY), STORMY, Moment(NOON)).decided.reason == "storm"


def test_signals_that_fill_in_for_missed_instants_are_exempt() -> None:
    watch = subscription(source={"time": {"every": "1m"}}, limits={"storm": {"threshold": "2/min"}})
    late = {"origin": "time/refund-watch", "trust": "platform", "time": NOON - 10 * MINUTE}
    assert {p.decided.outcome for p in arrivals(Ledger(), watch, [0.0] * 9, **late)} == {"delivered"}
    on_time = {**late, "time": NOON}
    assert [p.decided.outcome for p in arrivals(Ledger(), watch, [0.0] * 3, **on_time)][-1] == "suspended"


def test_a_lifted_storm_begins_anew_and_its_backlog_does_not_trip_it() -> None:
    ledger = Ledger()
    said = arrivals(ledger, STORMY, [0.0] * 52)
    [suspension] = ledger.suspensions["acme", "refund-watch"]
    ledger.lift(("acme", "refund-watch"), [suspension.id])
    held = [
        p.given.activation._replace(entry="held") for p in said if p.decided.outcome in ("held", "suspended")
    ]
    again = [ledger.decide(one, STORMY, Moment(NOON + MINUTE)) for one in held]
    assert [p.decided.outcome for p in again] == ["delivered"] * 32
    fresh = arrivals(ledger, STORMY, [61.0] * 21)
    assert [p.decided.outcome for p in fresh] == ["delivered"] * 20 + ["suspended"]


def test_a_suspension_is_one_row_with_its_cause_receipt_and_numbers() -> None:
    ledger = Ledger()
    said = arrivals(ledger, STORMY, [0.0] * 25)
    [suspension] = ledger.suspensions["acme", "refund-watch"]
    assert (suspension.cause, suspension.receiptid, suspension.subject) == (
        "storm",
        said[20].envelope.receiptid,
        None,
    )
    assert suspension.numbers["arrivals"] == 21
    assert said[21].decided.numbers["suspension"] == suspension.id


@pytest.mark.parametrize(
    ("choice", "misfire", "slots", "expected"),
    [
        ("deliver", "latest", [False, False], [(0, None), (1, None)]),
        ("drop", "latest", [False, True], [(0, "storm"), (1, "storm")]),
        ("review", "latest", [False, True], []),
        # Nominal instants follow misfire.
        ("deliver", "skip", [True, False, True], [(0, "misfire"), (1, None), (2, "misfire")]),
        ("deliver", "latest", [True, False, True], [(0, "misfire"), (1, None), (2, None)]),
        ("deliver", "all", [True, True], [(0, None), (1, None)]),
        ("deliver", "latest", [], []),
    ],
)
def test_what_becomes_of_a_backlog(
    choice: Any, misfire: Any, slots: list[bool], expected: list[tuple[int, str | None]]
) -> None:
    assert [tuple(one) for one in resume(slots, choice, misfire, "storm")] == expected
