"""Each guard by itself: given a passage, when the guard sees it, then its verdict with the numbers it used."""

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from sereno.execution_plane.guards import GUARDS, Given, GuardState, Occurrence, Passage, Reading, run
from sereno.execution_plane.guards.cooldown import cooldown
from sereno.execution_plane.guards.cycle import cycle
from sereno.execution_plane.guards.dedup import dedup, remembers, window
from sereno.execution_plane.guards.delivery import delivery, message_id
from sereno.execution_plane.guards.passage import Ancestor
from sereno.execution_plane.guards.rights import rights
from sereno.execution_plane.guards.subscription import Subscription
from tests.passages import NOON, receiptid, received, subscription

MINUTE = timedelta(minutes=1)
EARLIER = Occurrence(receiptid(9), "delivered", UUID(int=7), NOON + timedelta(hours=1))


def passage(
    state: GuardState | None = None,
    *,
    watch: Subscription | None = None,
    recorded: datetime = NOON,
    database: datetime = NOON,
    valid_until: datetime | None = None,
    **envelope: object,
) -> Passage:
    clock = Reading(recorded, database)
    found = received(**envelope)  # type: ignore[arg-type]
    watching = watch or subscription()
    standing = replace(watching.standing, valid_until=valid_until)
    return Passage(Given(found, watching, clock, state or GuardState(), standing))


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
    ("given", "decided_by"),
    [
        (passage(GuardState(same_key=EARLIER)), "dedup"),
        (passage(hops=9), "cycle"),
        (passage(watch=subscription(state="paused")), "rights"),
        (
            passage(
                GuardState(last_delivered=NOON), watch=subscription(limits={"cooldown": {"every": "1m"}})
            ),
            "cooldown",
        ),
        (passage(), "delivery"),
    ],
)
def test_the_first_guard_that_objects_decides_and_all_seven_leave_a_verdict(
    given: Passage, decided_by: str
) -> None:
    said = run(given)
    names: list[str] = [name for name, _ in GUARDS]
    assert said.decided.guard == decided_by
    assert [verdict.guard for verdict in said.verdicts] == names
    place = names.index(decided_by)
    answers = [verdict.answer for verdict in said.verdicts]
    assert set(answers[:place]) <= {"passed", "not_configured"}
    if decided_by != "delivery":
        assert answers[place] == "objected"
        assert set(answers[place + 1 :]) == {"not_reached"}


@pytest.mark.req(100, 111)
@pytest.mark.parametrize(
    ("state", "recorded", "by"),
    [
        (GuardState(same_key=EARLIER), NOON, "key"),
        (GuardState(same_body=EARLIER), NOON, "body"),
        (GuardState(same_key=EARLIER, same_body=EARLIER), NOON, "key"),
    ],
)
def test_dedup_says_of_which_and_what_became_of_it(state: GuardState, recorded: datetime, by: str) -> None:
    said = dedup(passage(state, recorded=recorded))
    assert (said.decided.outcome, said.decided.reason) == ("dropped", "duplicate")
    assert said.decided.numbers == {
        "key": "/zendesk#e-1",
        "by": by,
        "of": EARLIER.receiptid,
        "became": "delivered",
        "message": str(UUID(int=7)),
        "window_ends": NOON + timedelta(hours=1),
    }


def test_dedup_lets_an_occurrence_through_when_the_window_of_the_first_is_over() -> None:
    late = passage(GuardState(same_key=EARLIER), recorded=NOON + timedelta(hours=1))
    assert dedup(late).is_open


@pytest.mark.req(108)
def test_a_body_without_any_id_counts_for_an_hour_and_an_event_id_for_longer_than_any_retry() -> None:
    assert window("body:" + "0" * 64) == timedelta(hours=1)
    assert window("/zendesk#e-1") == timedelta(days=30)


@pytest.mark.parametrize(
    ("said", "takes_the_key"),
    [
        (run(passage()), True),
        (run(passage(hops=9)), True),
        (run(passage(GuardState(same_key=EARLIER))), False),
        (run(passage(watch=subscription(state="paused"))), False),
        (passage().fails("filter_fault", "no such key"), False),
    ],
)
def test_a_key_is_taken_by_what_was_decided_not_by_a_pause_or_a_fault_of_ours(
    said: Passage, takes_the_key: bool
) -> None:
    assert remembers(said) is takes_the_key


@pytest.mark.req(101)
def test_cycle_refuses_an_agent_among_its_own_causes_and_shows_the_path() -> None:
    """D1: three agents that wake each other in a ring."""
    ring = (
        Ancestor("M1", "support-triage"),
        Ancestor("M2", "billing"),
        Ancestor("M3", "legal"),
    )
    said = cycle(passage(GuardState(ancestors=ring), hops=4))
    assert (said.decided.outcome, said.decided.reason) == ("dropped", "cycle")
    assert said.decided.numbers["path"] == ["support-triage", "billing", "legal", "support-triage"]


@pytest.mark.req(101)
@pytest.mark.parametrize(("reentry", "passes"), [(0, False), (1, True), (2, True)])
def test_cycle_lets_an_agent_re_enter_as_often_as_its_subscription_says(reentry: int, passes: bool) -> None:
    watch = replace(subscription(), reentry=reentry)
    once = GuardState(ancestors=(Ancestor("M1", "support-triage"),))
    assert cycle(passage(once, watch=watch)).is_open is passes


@pytest.mark.parametrize(("hops", "passes"), [(1, True), (8, True), (9, False)])
def test_cycle_bounds_the_length_of_a_chain_over_any_number_of_agents(hops: int, passes: bool) -> None:
    said = cycle(passage(hops=hops))
    assert said.is_open is passes
    assert said.verdicts[-1].reason in (None, "too_deep")


def test_cycle_refuses_more_ancestors_than_a_message_keeps() -> None:
    many = tuple(Ancestor(f"M{n}", f"agent-{n}") for n in range(65))
    assert cycle(passage(GuardState(ancestors=many))).decided.reason == "too_deep"


def test_cycle_refuses_what_the_agent_itself_did_at_the_source() -> None:
    """D2: an action that fires again on its own comment."""
    watch = replace(subscription(), identities=frozenset({("webhook/zendesk", "triage-bot")}))
    assert cycle(passage(watch=watch, actor="triage-bot")).decided.reason == "self_origin"
    assert cycle(passage(watch=watch, actor="marta")).is_open


@pytest.mark.parametrize(
    ("watch", "database", "valid_until", "outcome", "reason"),
    [
        (subscription(), NOON, None, None, None),
        (subscription(), NOON, NOON + MINUTE, None, None),
        (subscription(state="paused"), NOON, None, "dropped", "not_active"),
        (subscription(state="pending_approval"), NOON, None, "dropped", "not_active"),
        (subscription(state="expired"), NOON, None, "dropped", "expired"),
        (subscription(state="exhausted"), NOON, None, "dropped", "exhausted"),
        (subscription(limits={"expires": "2026-03-02T12:00:00Z"}), NOON, None, "dropped", "expired"),
        (subscription(limits={"expires": "2026-03-02T12:00:01Z"}), NOON, None, None, None),
        (subscription(), NOON, NOON, "held", "policy_expired"),
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
    given = passage(
        valid_until=valid_until,
        watch=watch,
        recorded=NOON + timedelta(days=900),
        database=database,
    )
    said = rights(given)
    decision = said.decision
    assert (decision and decision.outcome, decision and decision.reason) == (outcome, reason)


def test_rights_asks_a_verified_sender_where_the_subscription_does() -> None:
    watch = subscription(sender="verified")
    assert rights(passage(watch=watch, trust="untrusted")).decided.reason == "sender_unverified"
    assert rights(passage(watch=watch, trust="authenticated")).is_open


@pytest.mark.req(76)
@pytest.mark.parametrize(
    ("since", "passes"),
    [(timedelta(), False), (MINUTE * 10 - timedelta(microseconds=1), False), (MINUTE * 10, True)],
)
def test_cooldown_reads_the_recorded_clock(since: timedelta, passes: bool) -> None:
    watch = subscription(limits={"cooldown": {"every": "10m"}})
    given = passage(
        GuardState(last_delivered=NOON),
        watch=watch,
        recorded=NOON + since,
        database=NOON + timedelta(days=900),
    )
    said = cooldown(given)
    assert said.is_open is passes
    assert said.verdicts[-1].numbers["since_last_seconds"] == since.total_seconds()
    assert said.verdicts[-1].numbers["ends"] == NOON + timedelta(minutes=10)


def test_cooldown_passes_the_first_and_is_not_configured_without_a_limit() -> None:
    assert cooldown(passage(watch=subscription(limits={"cooldown": {"every": "10m"}}))).is_open
    assert cooldown(passage()).verdicts[-1].answer == "not_configured"


def test_limits_that_nobody_can_set_yet_are_named_steps() -> None:
    said = run(passage())
    answers = {verdict.guard: verdict.answer for verdict in said.verdicts}
    assert (answers["batching"], answers["storm"]) == ("not_configured", "not_configured")


@pytest.mark.req(26)
def test_one_receipt_and_subscription_are_one_message_however_often_it_is_decided() -> None:
    first, again = delivery(passage()), delivery(passage())
    assert first.decided.message == again.decided.message
    assert first.decided.message is not None
    assert first.decided.message.version == 7
    others = {
        message_id(received(2), "refund-watch"),
        message_id(received(1), "ticket-log"),
        message_id(received(1, tenant="umbrella"), "refund-watch"),
    }
    assert len(others | {first.decided.message}) == 4


def test_a_fault_before_the_first_guard_reaches_none() -> None:
    said = passage().fails("filter_fault", "no such overload")
    assert (said.decided.outcome, said.decided.guard, said.decided.reason) == (
        "error",
        "match",
        "filter_fault",
    )
    assert {verdict.answer for verdict in said.verdicts} == {"not_reached"}
    assert len(said.verdicts) == len(GUARDS)
