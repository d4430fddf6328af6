"""Cooldown, quiet hours, batches and flushes: given what was delivered and when, then who waits, and until when."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sereno.execution_plane.guards import GuardState, Ledger, Moment, Passage, Reading, cooldown
from sereno.execution_plane.guards.batch import OpenBatch
from sereno.execution_plane.guards.batching import due
from sereno.execution_plane.guards.flush import Delivered, Dropped, Frozen, Later, digest
from sereno.execution_plane.guards.pause import pause_of
from sereno.execution_plane.guards.state import Memory
from sereno.execution_plane.guards.subscription import Subscription
from sereno.mailbox.scope import Scope
from sereno.subscriptions.lifecycle import State
from tests.passages import NOON, activation, received, subscription

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
NIGHT = {"zone": "UTC", "from": "22:00", "to": "07:00"}
REST = {"every": "10m", "then": "batch"}


def asked(watch: Subscription, *, recorded: datetime, database: datetime, delivered: datetime | None) -> Any:
    pause = pause_of(delivered, watch, recorded=recorded, database=database)
    state = GuardState(watch.standing, memory=Memory(delivered, delivered), pause=pause)
    return cooldown.decide(state, activation(received(), watch), watch, Reading(recorded, database))


@pytest.mark.req(76, 103)
@pytest.mark.parametrize(
    ("since", "outcome"),
    [(timedelta(), "dropped"), (10 * MINUTE - timedelta(microseconds=1), "dropped"), (10 * MINUTE, None)],
)
def test_cooldown_reads_the_recorded_clock(since: timedelta, outcome: str | None) -> None:
    watch = subscription(limits={"cooldown": {"every": "10m"}})
    said = asked(watch, recorded=NOON + since, database=NOON + timedelta(days=900), delivered=NOON)
    assert said.outcome == outcome
    assert said.numbers["since_last_seconds"] == since.total_seconds()
    assert said.numbers["ends"] == NOON + 10 * MINUTE


def test_cooldown_passes_the_first_and_is_not_configured_without_a_limit() -> None:
    watch = subscription(limits={"cooldown": {"every": "10m"}})
    assert asked(watch, recorded=NOON, database=NOON, delivered=None).answer == "passed"
    assert asked(subscription(), recorded=NOON, database=NOON, delivered=None).answer == "not_configured"


@pytest.mark.parametrize(
    ("cooldown_then", "quiet_then", "hour", "outcome", "reason"),
    [
        # Quiet hours outrank the cooldown, whatever either says of what comes.
        ("drop", "batch", 23, None, "quiet_hours"),
        ("batch", "drop", 23, "dropped", "quiet_hours"),
        ("drop", "batch", 12, "dropped", "cooldown"),
        ("batch", "drop", 12, None, "cooldown"),
    ],
)
def test_quiet_hours_read_the_database_clock_and_outrank_the_cooldown(
    cooldown_then: str, quiet_then: str, hour: int, outcome: str | None, reason: str
) -> None:
    limits = {
        "cooldown": {"every": "10m", "then": cooldown_then},
        "quiet_hours": {**NIGHT, "then": quiet_then},
    }
    said = asked(
        subscription(limits=limits),
        recorded=NOON,
        database=NOON.replace(hour=hour),
        delivered=NOON - MINUTE,
    )
    assert (said.outcome, said.reason) == (outcome, reason)


def batch(opened: datetime, *, sealed: bool = False) -> OpenBatch:
    from uuid import UUID

    return OpenBatch(UUID(int=1), "acme", "refund-watch", "", opened, 1, 10, (), sealed)


@pytest.mark.req(77)
@pytest.mark.parametrize(
    ("limits", "opened", "delivered", "expected"),
    [
        ({"batch": {"window": "5m"}}, NOON, None, NOON + 5 * MINUTE),
        # max(window end, cooldown end)
        ({"batch": {"window": "5m"}, "cooldown": REST}, NOON, NOON - MINUTE, NOON + 9 * MINUTE),
        ({"batch": {"window": "20m"}, "cooldown": REST}, NOON, NOON - MINUTE, NOON + 20 * MINUTE),
        # at the latest at max_wait
        (
            {"batch": {"window": "2m", "max_wait": "4m"}, "cooldown": REST},
            NOON,
            NOON - MINUTE,
            NOON + 4 * MINUTE,
        ),
        # never inside quiet hours: then at their end
        (
            {"batch": {"window": "5m", "max_wait": "10m"}, "quiet_hours": NIGHT},
            NOON.replace(hour=21, minute=58),
            None,
            NOON.replace(hour=7) + timedelta(days=1),
        ),
        # no batch limit: when the cooldown, or the night, is over
        ({"cooldown": REST}, NOON, NOON - MINUTE, NOON + 9 * MINUTE),
        ({"quiet_hours": NIGHT}, NOON.replace(hour=23), None, NOON.replace(hour=7) + timedelta(days=1)),
        ({}, NOON, None, NOON),
    ],
)
def test_when_a_batch_is_due(
    limits: dict[str, Any], opened: datetime, delivered: datetime | None, expected: datetime
) -> None:
    assert due(batch(opened), subscription(limits=limits), Memory(delivered, delivered)) == expected


def test_a_full_batch_does_not_wait_for_its_window_but_for_the_cooldown() -> None:
    full = batch(NOON, sealed=True)
    assert due(full, subscription(limits={"batch": {"window": "5m"}}), Memory()) == NOON
    resting = subscription(limits={"batch": {"window": "5m"}, "cooldown": REST})
    assert due(full, resting, Memory(NOON, NOON)) == NOON + 10 * MINUTE


class Round:
    """A ledger and one subscription; events arrive, batches are asked."""

    def __init__(self, **limits: Any) -> None:
        self.ledger = Ledger()
        self.watch = subscription(limits=limits)
        self._number = 0

    def event(self, after: timedelta = timedelta(), **envelope: Any) -> Passage:
        self._number += 1
        event = received(self._number, after=after, **envelope)
        return self.ledger.decide(activation(event, self.watch), self.watch, Moment(NOON + after))

    def batches(self) -> list[OpenBatch]:
        return self.ledger.batches_of((self.watch.tenant, self.watch.name))

    def flush(self, after: timedelta) -> Any:
        return self.ledger.flush(self.batches()[0], self.watch, Moment(NOON + after))

    def stand(self, **standing: Any) -> None:
        self.watch = replace(self.watch, standing=replace(self.watch.standing, **standing))


@pytest.mark.req(104)
def test_a_batch_is_closed_by_items_by_bytes_and_the_next_event_opens_another() -> None:
    by_items = Round(batch={"window": "5m", "max_items": 2})
    assert [by_items.event().decided.numbers["items"] for _ in range(3)] == [1, 2, 1]
    assert [(one.items, one.sealed) for one in by_items.batches()] == [(2, True), (1, False)]
    by_bytes = Round(batch={"window": "5m", "max_bytes": 1200})
    for _ in range(3):
        by_bytes.event(data={"text": "x" * 400})
    assert [(one.items, one.sealed) for one in by_bytes.batches()] == [(1, True), (1, True), (1, False)]


def test_events_of_one_key_are_in_one_batch() -> None:
    keyed = Round(batch={"window": "5m", "by": "data.customer"})
    said = [keyed.event(data={"customer": name}) for name in ("a", "b", "a")]
    said.append(keyed.event(data={}))
    assert {(one.key, one.items) for one in keyed.batches()} == {("", 1), ("a", 2), ("b", 1)}
    assert said[0].decided.batch == said[2].decided.batch != said[1].decided.batch


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        ({"state": State.PAUSED}, Frozen("not_active")),
        ({"valid_until": NOON}, None),
        ({"revoked": True}, "revoked"),
        ({"owner_removed": True}, "owner_removed"),
        ({"agent_suspended": True}, "agent_suspended"),
        ({"state": State.DELETED}, "deleted"),
        # What began before the end is delivered once.
        ({"state": State.EXPIRED}, Delivered),
        ({"state": State.EXHAUSTED}, Delivered),
        ({"expires": NOON}, Delivered),
    ],
)
def test_what_a_batch_becomes_when_its_subscription_stands_otherwise(
    standing: dict[str, Any], expected: Any
) -> None:
    one = Round(batch={"window": "5m"})
    one.event()
    one.stand(**standing)
    answer = one.flush(5 * MINUTE)
    if expected is Delivered:
        assert isinstance(answer, Delivered)
        assert one.batches() == []
    elif isinstance(expected, str):
        assert isinstance(answer, Dropped)
        assert answer.reason == expected
        assert one.batches() == []
    elif expected is not None:
        assert answer == expected
        assert len(one.batches()) == 1


def test_a_policy_that_ran_out_freezes_a_batch() -> None:
    one = Round(batch={"window": "5m"})
    one.event()
    moment = Moment(NOON + 5 * MINUTE, policy_valid_until=NOON)
    assert one.ledger.flush(one.batches()[0], one.watch, moment) == Frozen("policy_expired")


def test_a_stop_freezes_a_batch_and_a_batch_is_not_early() -> None:
    one = Round(batch={"window": "5m"})
    one.event()
    assert one.flush(MINUTE) == Later(NOON + 5 * MINUTE)
    one.ledger.stops = (Scope("acme"),)
    assert one.flush(5 * MINUTE) == Frozen("stopped")
    one.ledger.stops = ()
    assert isinstance(one.flush(5 * MINUTE), Delivered)


def test_a_budget_at_its_limit_suspends_at_the_flush_and_keeps_the_batch() -> None:
    one = Round(batch={"window": "5m", "by": "data.customer"}, budget={"activations": "1/day"})
    for name in ("a", "b"):
        one.event(data={"customer": name})
    first = one.flush(5 * MINUTE)
    second = one.flush(5 * MINUTE)
    assert isinstance(first, Delivered)
    assert isinstance(second, Frozen)
    assert second.reason == "budget"
    assert [cause.cause for cause in one.ledger.suspensions["acme", "refund-watch"]] == ["budget"]
    assert one.flush(6 * MINUTE) == Frozen("budget")
    assert len(one.batches()) == 1


@pytest.mark.parametrize(
    ("when_busy", "max_wait", "after", "expected"),
    [
        ("queue", None, 1 * MINUTE, Delivered),
        ("drop", None, 1 * MINUTE, Dropped),
        ("merge", None, 1 * HOUR, Later),
        ("merge", "30m", 29 * MINUTE, Later),
        ("merge", "30m", 30 * MINUTE, Delivered),
    ],
)
def test_a_batch_that_is_due_while_the_agent_is_busy(
    when_busy: str, max_wait: str | None, after: timedelta, expected: type
) -> None:
    limits: dict[str, Any] = {"window": "1m", **({} if max_wait is None else {"max_wait": max_wait})}
    one = Round(batch=limits, when_busy=when_busy)
    one.event()
    one.ledger.open_work["acme", "refund-watch", ""] = 1
    assert isinstance(one.flush(after), expected)


def test_a_flush_is_a_wake_up_for_the_cooldown_and_for_the_count() -> None:
    one = Round(cooldown=REST, max_occurrences=2)
    assert one.event().decided.outcome == "delivered"
    assert one.event(MINUTE).decided.outcome == "merged"
    assert isinstance(one.flush(10 * MINUTE), Delivered)
    assert one.event(11 * MINUTE).decided.reason == "exhausted"
    memory = one.ledger.memories["acme", "refund-watch"]
    assert (memory.deliveries, memory.last_delivered) == (2, NOON + 10 * MINUTE)


@pytest.mark.req(77, 104)
@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["event", "flush"]), st.integers(0, 240), st.sampled_from("abc")),
        max_size=50,
    ),
    st.integers(1, 5),
    st.booleans(),
)
def test_every_merged_event_is_in_exactly_one_flushed_batch(
    steps: list[tuple[str, int, str]], most: int, resting: bool
) -> None:
    limits: dict[str, Any] = {"batch": {"window": "1m", "max_items": most, "by": "data.key"}}
    one = Round(**(limits | ({"cooldown": REST} if resting else {})))
    merged: list[str] = []
    flushed: list[str] = []
    now = timedelta()
    for step, seconds, key in steps:
        now += timedelta(seconds=seconds)
        if step == "event":
            said = one.event(now, data={"key": key})
            assert said.decided.outcome == "merged"
            merged.append(said.envelope.receiptid)
        else:
            flushed += _flush_all(one, now)
    for hours in range(1, 60):
        flushed += _flush_all(one, now + hours * HOUR)
    assert sorted(flushed) == sorted(merged)
    assert one.batches() == []


def _flush_all(one: Round, now: timedelta) -> list[str]:
    flushed = []
    for open_batch in one.batches():
        items = list(one.ledger.items[open_batch.id])
        if isinstance(one.ledger.flush(open_batch, one.watch, Moment(NOON + now)), Delivered):
            assert [item.place for item in items] == list(range(1, len(items) + 1))
            flushed += [item.receiptid for item in items]
    return flushed


def test_a_digest_is_bounded_however_large_the_batch() -> None:
    many: list[Mapping[str, Any]] = [
        {"type": f"t.{n % 30}", "subject": f"s/{n}", "time": f"2026-03-02T12:00:{n % 60:02}Z"}
        for n in range(500)
    ]
    told = digest(many)
    assert (told["events"], told["first"], told["last"]) == (
        500,
        "2026-03-02T12:00:00Z",
        "2026-03-02T12:00:59Z",
    )
    assert (len(told["subjects"]), told["more_subjects"]) == (10, 490)
    assert len(told["types"]) == 11
    assert sum(told["types"].values()) == 500
