"""Storms: given how many came, when one more comes, then whether it leaves; and what a person's word begins anew."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.execution_plane.guards import Ledger, Moment, Passage
from sereno.execution_plane.guards.buckets import Buckets, counted
from sereno.execution_plane.guards.resumption import resume
from sereno.execution_plane.guards.subscription import Subscription
from tests.passages import NOON, activation, received, subscription

MINUTE = timedelta(minutes=1)
WINDOW = MINUTE


class TestBuckets:
    @pytest.mark.parametrize(
        ("seconds", "total"),
        [
            ((0,), 1),
            ((0, 29), 2),
            ((0, 30), 2),
            ((0, 59), 2),
            # The half window before the one before is forgotten.
            ((0, 60), 1),
            ((0, 30, 60), 2),
            ((0, 300), 1),
        ],
    )
    def test_a_window_is_the_half_that_runs_and_the_one_before(
        self, seconds: Sequence[int], total: int
    ) -> None:
        buckets: Buckets | None = None
        for second in seconds:
            buckets = counted(buckets, NOON + timedelta(seconds=second), WINDOW)
        assert buckets is not None
        assert buckets.total == total

    def test_another_window_begins_anew(self) -> None:
        assert counted(counted(None, NOON, WINDOW), NOON, 60 * MINUTE) == Buckets(
            1800, counted(None, NOON, 60 * MINUTE).slot, 1, 0
        )

    @given(st.lists(st.integers(0, 600), min_size=1, max_size=60))
    def test_it_never_counts_more_than_the_window_held_nor_less_than_half_of_it_did(
        self, seconds: list[int]
    ) -> None:
        buckets: Buckets | None = None
        moments = sorted(seconds)
        for place, second in enumerate(moments):
            buckets = counted(buckets, NOON + timedelta(seconds=second), WINDOW)
            past = moments[: place + 1]
            assert buckets.total <= sum(second - one < 60 for one in past)
            assert buckets.total >= sum(second - one < 30 for one in past)


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
    halves = [int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) // 30 for moment in delivered]
    assert all(halves.count(half) + halves.count(half + 1) <= 20 for half in set(halves))
    assert [p.decided.outcome for p in said].count("suspended") <= 1
    tripped = next((place for place, p in enumerate(said) if p.decided.outcome == "suspended"), None)
    if tripped is not None:
        assert {p.decided.outcome for p in said[tripped + 1 :]} <= {"held"}


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
