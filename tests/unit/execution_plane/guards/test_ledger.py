"""The ledger over many events: what a set of arrivals can and cannot cause, in whatever order they come."""

import itertools
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.envelope.envelope import Envelope
from sereno.execution_plane.guards.ledger import Ledger, Moment
from sereno.execution_plane.guards.passage import Passage
from sereno.execution_plane.guards.subscription import Subscription
from tests.passages import NOON, activation, received, subscription

PLAIN = subscription()
RESTING = subscription(limits={"cooldown": {"every": "10m"}})


def decide(ledger: Ledger, envelope: Envelope, watch: Subscription, database: datetime = NOON) -> Passage:
    return ledger.decide(activation(envelope, watch), watch, Moment(database))


@pytest.mark.req(100)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_duplicates_in_any_order_never_yield_two_messages(events: list[int]) -> None:
    ledger = Ledger()
    said = [
        decide(ledger, received(number, event_id=f"e-{event}"), PLAIN) for number, event in enumerate(events)
    ]
    messages = [passage.envelope.id for passage in said if passage.decided.outcome == "delivered"]
    assert sorted(messages) == sorted({f"e-{event}" for event in events})
    assert {passage.decided.reason for passage in said} <= {"delivered", "duplicate"}


@pytest.mark.req(76)
@given(st.lists(st.integers(-1200, 7200), min_size=1, max_size=40))
def test_two_wake_ups_are_a_cooldown_apart_however_events_arrive(offsets: list[int]) -> None:
    ledger = Ledger()
    woke: list[datetime] = []
    for number, offset in enumerate(offsets):
        said = decide(ledger, received(number, after=timedelta(seconds=offset)), RESTING)
        if said.decided.outcome == "delivered":
            woke.append(said.given.clock.recorded)
    assert all(later - earlier >= timedelta(minutes=10) for earlier, later in itertools.pairwise(woke))


@given(st.lists(st.integers(-1200, 7200), min_size=1, max_size=40))
def test_the_recorded_clock_of_a_subscription_never_goes_back(offsets: list[int]) -> None:
    ledger = Ledger()
    said = [
        decide(ledger, received(number, after=timedelta(seconds=offset)), PLAIN)
        for number, offset in enumerate(offsets)
    ]
    readings = [passage.given.clock.recorded for passage in said]
    assert readings == sorted(readings)
    assert all(p.given.clock.recorded >= p.envelope.recordedtime for p in said)


@given(st.permutations(range(6)), st.lists(st.booleans(), min_size=6, max_size=6))
def test_a_pause_burns_no_key(order: list[int], paused: list[bool]) -> None:
    """What was refused as not active is a first arrival when its sender tries again."""
    ledger = Ledger()
    for number, event in enumerate(order):
        watch = subscription(state="paused" if paused[event] else "active")
        decide(ledger, received(number, event_id=f"e-{event}"), watch)
    again = [decide(ledger, received(10 + event, event_id=f"e-{event}"), PLAIN) for event in order]
    outcomes = {passage.envelope.id: passage.decided.outcome for passage in again}
    assert outcomes == {f"e-{event}": "delivered" if paused[event] else "dropped" for event in order}


@pytest.mark.parametrize(
    ("name", "tenant", "origin"),
    [
        ("ticket-log", "acme", "webhook/zendesk"),
        ("refund-watch", "umbrella", "webhook/zendesk"),
        ("refund-watch", "acme", "webhook/other"),
    ],
)
def test_a_key_counts_within_tenant_origin_and_subscription_alone(
    name: str, tenant: str, origin: str
) -> None:
    """C2, K6: the same id on another route, or for another tenant, is another occurrence."""
    ledger = Ledger()
    assert decide(ledger, received(1, event_id="same"), PLAIN).decided.outcome == "delivered"
    other = received(2, event_id="same", tenant=tenant, origin=origin)
    assert decide(ledger, other, subscription(name, tenant=tenant)).decided.outcome == "delivered"


def test_identical_bodies_without_an_id_two_hours_apart_are_two_occurrences() -> None:
    """C3: a window, not for ever."""
    key, ledger = "body:" + "0" * 64, Ledger()
    first = decide(ledger, received(1, dedupkey=key), PLAIN)
    soon = decide(ledger, received(2, dedupkey=key, after=timedelta(minutes=59)), PLAIN)
    later = decide(ledger, received(3, dedupkey=key, after=timedelta(hours=2)), PLAIN)
    assert [first.decided.outcome, soon.decided.outcome, later.decided.outcome] == [
        "delivered",
        "dropped",
        "delivered",
    ]


def test_both_clocks_are_kept_apart() -> None:
    database = NOON + timedelta(days=3)
    said = decide(Ledger(), received(), RESTING, database)
    assert (said.given.clock.recorded, said.given.clock.database) == (NOON, database)
