"""The life of a lease, decided: given what happened, when this is asked, then that happens."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.mailbox.lease import (
    TRANSITIONS,
    IllegalTransitionError,
    Refusal,
    State,
    Terms,
    Work,
    decide,
    evolve,
)
from sereno.mailbox.lease import commands as c
from sereno.mailbox.lease import events as e
from sereno.mailbox.lease.transitions import CLOSED, mermaid
from sereno.mailbox.lease_items import Status

START = datetime(2026, 1, 1, tzinfo=UTC)
TERMS = Terms(3, timedelta(seconds=60), timedelta(hours=1), timedelta(hours=24))
README = Path(__file__).parents[3] / "mailbox" / "README.md"


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def after(*events: e.Event, terms: Terms = TERMS) -> Work:
    work = Work(terms, START)
    for event in events:
        work = evolve(work, event)
    return work


def claimed(token: int = 7, seconds: float = 0) -> e.Claimed:
    return e.Claimed(at(seconds), token, TERMS.lease)


def test_a_claim_leases_for_as_long_as_the_message_says() -> None:
    assert decide(after(), c.Claim(at(1), 7)) == (e.Claimed(at(1), 7, TERMS.lease),)
    work = after(claimed())
    assert (work.state, work.attempts, work.until, work.hard_deadline, work.give_up_at) == (
        State.LEASED,
        1,
        at(60),
        at(3600),
        at(86_400),
    )


@pytest.mark.parametrize(
    "work",
    [
        after(claimed()),
        after(e.Held(at(0), "paused", cancel=True)),
        after(claimed(), e.Acked(at(1))),
        replace(after(), ready_at=at(100)),
        replace(after(claimed(), e.Expired(at(60))), give_up_at=at(61)),
    ],
)
def test_what_is_not_claimable_is_not_claimed(work: Work) -> None:
    assert isinstance(decide(work, c.Claim(at(90), 8)), Refusal)


def test_a_token_that_is_not_larger_is_a_fault() -> None:
    with pytest.raises(ValueError, match="token 7 is not above 7"):
        decide(after(claimed(), e.Expired(at(60))), c.Claim(at(61), 7))


@pytest.mark.req(30)
@pytest.mark.parametrize(
    ("work", "token", "status"),
    [
        (after(claimed(7), e.Expired(at(60)), claimed(8, 61)), 7, Status.STALE),
        (after(claimed(7), e.Released(at(1), "busy", at(2))), 7, Status.STALE),
        (after(claimed(7), e.Acked(at(1))), 7, Status.STALE),
        (after(claimed(7)), 7, Status.EXPIRED),
        (after(claimed(7), e.Expired(at(60))), 7, Status.EXPIRED),
        (after(claimed(7), e.Died(at(60), "exhausted", "expired")), 7, Status.EXPIRED),
        (
            after(claimed(7), e.Held(at(1), "paused", cancel=True), e.Cancelled(at(2), "paused")),
            7,
            Status.CANCELLED,
        ),
    ],
)
def test_only_the_live_lease_counts(work: Work, token: int, status: Status) -> None:
    now = at(62) if status is Status.EXPIRED else at(61.5)
    for command in (
        c.Renew(now, token),
        c.Ack(now, token),
        c.Release(now, token, "x"),
        c.Park(now, token, "approval"),
    ):
        refusal = decide(work, command)
        assert isinstance(refusal, Refusal)
        assert refusal.status is status


def test_a_renewal_never_passes_the_hard_deadline_or_the_age() -> None:
    short = Terms(3, timedelta(seconds=60), timedelta(seconds=90), timedelta(seconds=80))
    work = after(e.Claimed(at(0), 7, short.lease), e.Renewed(at(50)), terms=short)
    assert work.until == at(80)


@pytest.mark.parametrize(
    ("reason", "retry_after", "expected"),
    [
        ("busy", None, e.Released(at(1), "busy", at(2))),
        ("busy", timedelta(0), e.Released(at(1), "busy", at(2))),
        ("busy", timedelta(minutes=5), e.Released(at(1), "busy", at(301))),
        ("not_started", None, e.Released(at(1), "not_started", at(1))),
        ("rejected", None, e.Died(at(1), "rejected", "released")),
    ],
)
def test_a_release_backs_off_at_least_the_minimum(
    reason: str, retry_after: timedelta | None, expected: e.Event
) -> None:
    assert decide(after(claimed()), c.Release(at(1), 7, reason, retry_after)) == (expected,)


def test_attempts_used_up_is_the_end() -> None:
    once = replace(TERMS, max_attempts=1)
    work = after(claimed(), terms=once)
    assert decide(work, c.Release(at(1), 7, "x")) == (e.Died(at(1), "exhausted", "released"),)
    assert decide(work, c.Reap(at(60))) == (e.Died(at(60), "exhausted", "expired"),)
    assert decide(work, c.Release(at(1), 7, "not_started")) == (e.Released(at(1), "not_started", at(1)),)


def test_the_reaper_leaves_alone_what_is_not_overdue() -> None:
    assert decide(after(claimed()), c.Reap(at(59.999))) == ()
    assert decide(after(), c.Reap(at(1e9))) == ()
    assert decide(after(claimed(), e.Acked(at(1))), c.Reap(at(1e9))) == ()


def test_a_pause_is_told_at_the_next_renewal_and_gives_the_attempt_back() -> None:
    paused = after(claimed(), e.Held(at(1), "paused", cancel=True))
    assert decide(paused, c.Renew(at(2), 7)) == (e.Cancelled(at(2), "paused"),)
    work = evolve(paused, e.Cancelled(at(2), "paused"))
    assert (work.state, work.attempts, work.held_by) == (State.READY, 0, frozenset({"paused"}))
    assert decide(paused, c.Ack(at(2), 7)) == (e.Acked(at(2)),)


def test_a_suspension_lets_the_holder_finish() -> None:
    suspended = after(claimed(), e.Held(at(1), "sus_1", cancel=False))
    assert decide(suspended, c.Renew(at(2), 7)) == (e.Renewed(at(2)),)


def test_deleted_work_is_withdrawn() -> None:
    assert decide(after(), c.Withdraw(at(1), "withdrawn")) == (e.Died(at(1), "withdrawn"),)
    held = after(claimed(), e.Withdrawn(at(1), "withdrawn"))
    assert decide(held, c.Renew(at(2), 7)) == (e.Died(at(2), "withdrawn", "cancelled"),)
    assert decide(held, c.Release(at(2), 7, "not_started")) == (e.Died(at(2), "withdrawn", "released"),)
    assert decide(held, c.Reap(at(60))) == (e.Died(at(60), "withdrawn", "expired"),)


@pytest.mark.req(176)
def test_waiting_for_a_person_costs_neither_attempts_nor_age() -> None:
    work = after(claimed(), e.Parked(at(10), "approval"))
    assert (work.state, work.attempts) == (State.PARKED, 0)
    resumed = evolve(work, e.Resumed(at(1010)))
    assert (resumed.state, resumed.give_up_at) == (State.READY, at(86_400 + 1000))


@pytest.mark.req(383)
@pytest.mark.parametrize("state", State)
def test_what_the_table_does_not_have_cannot_happen(state: State) -> None:
    legal = {move.kind for move in TRANSITIONS if move.source is state}
    samples: list[e.Event] = [
        claimed(9),
        e.Renewed(at(1)),
        e.Acked(at(1)),
        e.Released(at(1), "x", at(1)),
        e.Expired(at(1)),
        e.Cancelled(at(1), "x"),
        e.Parked(at(1), "x"),
        e.Resumed(at(1)),
        e.Died(at(1), "x"),
        e.Held(at(1), "x", cancel=False),
        e.Unheld(at(1), "x"),
        e.Withdrawn(at(1), "x"),
    ]
    work = replace(after(claimed()), state=state)
    for event in samples:
        if event.kind not in legal:
            with pytest.raises(IllegalTransitionError, match=f"{event.kind} cannot happen to {state} work"):
                evolve(work, event)
    assert (state in CLOSED) == (not legal - {"redriven"})


def test_the_diagram_of_the_readme_is_drawn_from_the_table() -> None:
    assert f"```mermaid\n{mermaid()}\n```" in README.read_text(encoding="utf-8")


TOKENS = st.integers(1, 6)


@st.composite
def moves(draw: st.DrawFn) -> list[tuple[float, str, int]]:
    kinds = ["claim", "renew", "ack", "release", "park", "resume", "reap", "hold", "unhold", "withdraw"]
    return draw(st.lists(st.tuples(st.floats(0, 100), st.sampled_from(kinds), TOKENS), max_size=40))


def command(kind: str, now: datetime, token: int, next_token: int) -> c.Command:
    commands: dict[str, c.Command] = {
        "claim": c.Claim(now, next_token),
        "renew": c.Renew(now, token),
        "ack": c.Ack(now, token),
        "release": c.Release(now, token, "not_started" if token % 3 == 0 else "x"),
        "park": c.Park(now, token, "approval"),
        "resume": c.Resume(now),
        "reap": c.Reap(now),
        "hold": c.Hold(now, f"h{token % 2}", token % 3 == 0),
        "unhold": c.Unhold(now, f"h{token % 2}"),
        "withdraw": c.Withdraw(now, "withdrawn"),
    }
    return commands[kind]


@given(moves())
def test_whatever_is_asked_the_invariants_hold(asked: list[tuple[float, str, int]]) -> None:
    work, now, last = Work(TERMS, START), START, 0
    for wait, kind, token in asked:
        now += timedelta(seconds=wait)
        decided = decide(work, command(kind, now, token, last + 1))
        if isinstance(decided, Refusal):
            continue
        before = work
        for event in decided:
            work = evolve(work, event)
        last += kind == "claim"
        holds_the_live_lease = before.state is State.LEASED and before.token == token
        if kind in {"renew", "ack", "release", "park"}:
            assert holds_the_live_lease
            assert before.until is not None
            assert now < before.until
        assert 0 <= work.attempts <= TERMS.max_attempts
        assert not decided or before.state not in CLOSED
        assert (work.still_since is None) == (work.age_counts)
        if work.state is State.LEASED:
            assert work.until is not None
            assert work.hard_deadline is not None
            assert work.give_up_at is not None
            assert work.until <= min(work.hard_deadline, work.give_up_at)
        else:
            assert work.cancel is None
