"""The first guards by themselves and their order: given what is known, when an event comes, then its verdict."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from sereno.execution_plane.guards import (
    GUARDS,
    Activation,
    GuardState,
    Occurrence,
    Passage,
    Reading,
    cycle,
    dedup,
    delivery,
    rights,
    run,
)
from sereno.execution_plane.guards.dedup import window
from sereno.execution_plane.guards.delivery import message_id
from sereno.execution_plane.guards.lineage import Ancestor
from sereno.execution_plane.guards.passage import Given, failed
from sereno.execution_plane.guards.pause import pause_of
from sereno.execution_plane.guards.state import Memory
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.guards.tenancy import Tenancy
from sereno.execution_plane.guards.verdict import Verdict
from sereno.execution_plane.outside import ENDPOINT_PAUSED, FORCED
from tests.passages import NOON, activation, receiptid, received, subscription

MINUTE = timedelta(minutes=1)
EARLIER = Occurrence(receiptid(9), "delivered", UUID(int=7), NOON + timedelta(hours=1))
PLAIN = subscription()


def given(
    watch: Subscription = PLAIN,
    *,
    recorded: datetime = NOON,
    database: datetime = NOON,
    valid_until: datetime | None = None,
    known: dict[str, Any] | None = None,
    **envelope: Any,
) -> Given:
    standing = replace(watch.standing, valid_until=valid_until)
    known = known or {}
    last = known.get("memory", Memory()).last_delivered
    pause = pause_of(last, watch, recorded=recorded, database=database)
    state = GuardState(standing, pause=pause, **known)
    event = activation(received(**envelope), watch)
    return Given(state, event, watch, Reading(recorded, database))


def said_by(guard: Any, one: Given) -> Verdict:
    verdict: Verdict = guard.decide(one.state, one.activation, one.subscription, one.clock)
    return verdict


@pytest.mark.req(99)
def test_the_order_of_the_guards_is_the_contract() -> None:
    assert [name for name, _ in GUARDS] == [
        "dedup",
        "cycle",
        "rights",
        "cooldown",
        "batching",
        "delivery",
        "storm",
    ]


@pytest.mark.req(99)
@pytest.mark.parametrize(
    ("one", "decided_by"),
    [
        (given(known={"same_key": EARLIER}), "dedup"),
        (given(hops=9), "cycle"),
        (given(subscription(state="paused")), "rights"),
        (
            given(
                subscription(limits={"cooldown": {"every": "1m"}}),
                known={"memory": Memory(NOON, NOON)},
            ),
            "cooldown",
        ),
        (given(subscription(limits={"batch": {"window": "1m"}})), "batching"),
        (given(subscription(limits={"when_busy": "drop"}), known={"busy": True}), "delivery"),
        (given(), "delivery"),
    ],
)
def test_the_first_guard_that_objects_decides_and_all_seven_leave_a_verdict(
    one: Given, decided_by: str
) -> None:
    said = run(one)
    names: list[str] = [name for name, _ in GUARDS]
    assert said.decided.guard == decided_by
    assert [verdict.guard for verdict in said.verdicts] == names
    place = names.index(decided_by)
    answers = [verdict.answer for verdict in said.verdicts]
    assert set(answers[:place]) <= {"passed", "not_configured"}
    if said.decided.outcome != "delivered":
        assert answers[place] == "objected"
        assert set(answers[place + 1 :]) == {"not_reached"}


@pytest.mark.req(100, 111)
@pytest.mark.parametrize(
    ("known", "by"),
    [
        ({"same_key": EARLIER}, "key"),
        ({"same_body": EARLIER}, "body"),
        ({"same_key": EARLIER, "same_body": EARLIER}, "key"),
    ],
)
def test_dedup_says_of_which_and_what_became_of_it(known: dict[str, Any], by: str) -> None:
    said = said_by(dedup, given(known=known))
    assert (said.outcome, said.reason) == ("dropped", "duplicate")
    assert said.numbers == {
        "key": "/zendesk#e-1",
        "by": by,
        "of": EARLIER.receiptid,
        "became": "delivered",
        "message": UUID(int=7),
        "window_ends": NOON + timedelta(hours=1),
    }


def test_dedup_lets_an_occurrence_through_when_the_window_of_the_first_is_over() -> None:
    late = given(known={"same_key": EARLIER}, recorded=NOON + timedelta(hours=1))
    assert said_by(dedup, late).answer == "passed"


def test_dedup_does_not_ask_again_what_was_held_or_is_forced() -> None:
    one = given(known={"same_key": EARLIER})
    held = said_by(dedup, one._replace(activation=one.activation._replace(entry="held")))
    assert (held.answer, held.numbers["entry"]) == ("passed", "held")
    forced = said_by(dedup, given(known={"same_key": EARLIER}, notes={FORCED: "user:marta"}))
    assert (forced.answer, forced.numbers["forced"]) == ("passed", True)


def test_rights_records_what_comes_through_a_paused_endpoint() -> None:
    said = said_by(rights, given(notes={ENDPOINT_PAUSED: True}))
    assert (said.outcome, said.reason, said.numbers["endpoint"]) == ("dropped", "not_active", "paused")


@pytest.mark.req(108)
def test_a_body_without_any_id_counts_for_an_hour_and_an_event_id_for_longer_than_any_retry() -> None:
    assert window("body:" + "0" * 64) == timedelta(hours=1)
    assert window("/zendesk#e-1") == timedelta(days=30)


def a_fault() -> Passage:
    return failed(given(), "filter_fault", "no such overload")


@pytest.mark.parametrize(
    ("said", "takes_the_key"),
    [
        (run(given()), True),
        (run(given(hops=9)), True),
        (run(given(known={"same_key": EARLIER})), False),
        (run(given(subscription(state="paused"))), False),
        (run(given(known={"stop": "*"})), True),
        (a_fault(), False),
    ],
)
def test_a_key_is_taken_by_what_was_decided_not_by_a_pause_or_a_fault_of_ours(
    said: Passage, takes_the_key: bool
) -> None:
    assert said.takes_key is takes_the_key


@pytest.mark.req(101)
def test_cycle_refuses_an_agent_among_its_own_causes_and_shows_the_path() -> None:
    """D1: three agents that wake each other in a ring."""
    ring = (
        Ancestor("M1", "support-triage"),
        Ancestor("M2", "billing"),
        Ancestor("M3", "legal"),
    )
    said = said_by(cycle, given(known={"ancestors": ring}, hops=4))
    assert (said.outcome, said.reason) == ("dropped", "cycle")
    assert said.numbers["path"] == ["support-triage", "billing", "legal", "support-triage"]


@pytest.mark.req(101)
@pytest.mark.parametrize(
    ("reentry", "times", "passes"), [(0, 1, False), (1, 1, True), (1, 2, False), (2, 2, True)]
)
def test_cycle_lets_an_agent_re_enter_as_often_as_its_subscription_says(
    reentry: int, times: int, passes: bool
) -> None:
    woken = tuple(Ancestor(f"M{n}", "support-triage") for n in range(times))
    said = said_by(cycle, given(subscription(limits={"reentry": reentry}), known={"ancestors": woken}))
    assert (said.outcome is None) is passes


@pytest.mark.parametrize(
    ("longest", "hops", "passes"), [(8, 1, True), (8, 8, True), (8, 9, False), (3, 3, True), (3, 4, False)]
)
def test_cycle_bounds_the_length_of_a_chain_over_any_number_of_agents(
    longest: int, hops: int, passes: bool
) -> None:
    watch = subscription(tenancy=Tenancy(max_chain=longest))
    said = said_by(cycle, given(watch, hops=hops))
    assert said.reason == (None if passes else "too_deep")
    assert said.numbers["max_hops"] == longest


def test_cycle_refuses_more_ancestors_than_a_message_keeps() -> None:
    many = tuple(Ancestor(f"M{n}", f"agent-{n}") for n in range(65))
    assert said_by(cycle, given(known={"ancestors": many})).reason == "too_deep"


def test_cycle_refuses_what_the_agent_itself_did_at_the_source() -> None:
    """D2: an action that fires again on its own comment."""
    watch = subscription(identities=(("webhook/zendesk", "triage-bot"),))
    assert said_by(cycle, given(watch, actor="triage-bot")).reason == "self_origin"
    assert said_by(cycle, given(watch, actor="marta")).answer == "passed"


@pytest.mark.parametrize(
    ("watch", "database", "valid_until", "outcome", "reason"),
    [
        (PLAIN, NOON, None, None, None),
        (PLAIN, NOON, NOON + MINUTE, None, None),
        (subscription(state="paused"), NOON, None, "dropped", "not_active"),
        (subscription(state="pending_approval"), NOON, None, "dropped", "not_active"),
        (subscription(state="expired"), NOON, None, "dropped", "expired"),
        (subscription(state="exhausted"), NOON, None, "dropped", "exhausted"),
        (subscription(limits={"expires": "2026-03-02T12:00:00Z"}), NOON, None, "dropped", "expired"),
        (subscription(limits={"expires": "2026-03-02T12:00:01Z"}), NOON, None, None, None),
        (PLAIN, NOON, NOON, "held", "policy_expired"),
        (subscription(state="paused"), NOON, NOON, "dropped", "not_active"),
    ],
)
def test_rights_reads_the_database_clock(
    watch: Subscription,
    database: datetime,
    valid_until: datetime | None,
    outcome: str | None,
    reason: str | None,
) -> None:
    # The recorded clock is far ahead and must not matter here.
    one = given(watch, valid_until=valid_until, recorded=NOON + timedelta(days=900), database=database)
    said = said_by(rights, one)
    assert (said.outcome, said.reason) == (outcome, reason)


@pytest.mark.parametrize("taken", ["revoked", "owner_removed", "agent_suspended"])
def test_rights_names_the_right_that_was_taken(taken: str) -> None:
    changes: dict[str, Any] = {taken: True}
    watch = replace(PLAIN, standing=replace(PLAIN.standing, **changes))
    said = said_by(rights, given(watch))
    assert (said.outcome, said.reason) == ("dropped", taken)


def test_whatever_contradicts_it_a_standing_that_says_no_does_not_fire() -> None:
    """F1: a row that shows a pause and still says enabled."""
    for state in ("paused", "draft", "rejected", "deleted", "pending_approval", "expired", "exhausted"):
        assert said_by(rights, given(subscription(state=state))).outcome == "dropped", state


def test_rights_asks_a_verified_sender_where_the_subscription_does() -> None:
    watch = subscription(sender="verified")
    assert said_by(rights, given(watch, trust="untrusted")).reason == "sender_unverified"
    assert said_by(rights, given(watch, trust="authenticated")).answer == "passed"


@pytest.mark.req(79)
@pytest.mark.parametrize(("deliveries", "reason"), [(0, None), (2, None), (3, "exhausted"), (4, "exhausted")])
def test_rights_counts_the_deliveries_of_all_time(deliveries: int, reason: str | None) -> None:
    watch = subscription(limits={"max_occurrences": 3})
    said = said_by(rights, given(watch, known={"memory": Memory(deliveries=deliveries)}))
    assert said.reason == reason
    assert (said.numbers["occurrences"], said.numbers["max_occurrences"]) == (deliveries, 3)


@pytest.mark.req(26)
def test_one_receipt_and_subscription_are_one_message_however_often_it_is_decided() -> None:
    first, again = run(given()), run(given())
    assert first.decided.message == again.decided.message
    assert first.decided.message is not None
    assert first.decided.message.version == 7
    others = {
        message_id(received(2), "refund-watch"),
        message_id(received(1), "ticket-log"),
        message_id(received(1, tenant="umbrella"), "refund-watch"),
    }
    assert len(others | {first.decided.message}) == 4


@pytest.mark.parametrize(
    ("when_busy", "busy", "outcome", "reason"),
    [
        ("queue", True, None, "delivered"),
        ("drop", False, None, "delivered"),
        ("drop", True, "dropped", "busy"),
    ],
)
def test_delivery_while_the_agent_is_busy_with_the_last_one(
    when_busy: str, busy: bool, outcome: str | None, reason: str
) -> None:
    """I4: no queue grows while a run hangs."""
    said = said_by(delivery, given(subscription(limits={"when_busy": when_busy}), known={"busy": busy}))
    assert (said.outcome, said.reason) == (outcome, reason)


def test_delivery_is_held_by_a_stop() -> None:
    said = run(given(known={"stop": "acme"}))
    assert (said.decided.outcome, said.decided.guard, said.decided.reason) == ("held", "delivery", "stopped")
    assert said.decided.numbers == {"scope": "acme"}


def test_a_fault_before_the_first_guard_reaches_none() -> None:
    said = a_fault()
    assert (said.decided.outcome, said.decided.guard, said.decided.reason) == (
        "error",
        "match",
        "filter_fault",
    )
    assert {verdict.answer for verdict in said.verdicts} == {"not_reached"}
    assert len(said.verdicts) == len(GUARDS)


def test_an_activation_without_keys_is_the_event_as_it_is() -> None:
    assert given().activation == Activation(received(), given().activation.attributes)
