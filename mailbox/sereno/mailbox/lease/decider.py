"""The decider of a message's work: `decide` answers events or a refusal, `evolve` applies an event.

`verbs.sql`, `reaper.sql` and `standing.sql` do the same for sets of rows; a test takes both through
the same moves and compares what they make of it.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from sereno.mailbox.backoff import delay
from sereno.mailbox.lease import commands as c
from sereno.mailbox.lease import events as e
from sereno.mailbox.lease.transitions import CLOSED, TRANSITIONS, State
from sereno.mailbox.lease.work import Work
from sereno.mailbox.lease_items import Status

_TARGETS = {(move.source, move.kind): move.target for move in TRANSITIONS}

Events = tuple[e.Event, ...]


class IllegalTransitionError(Exception):
    """An event that cannot have happened in this state: the log is corrupt."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The command changes nothing; `status` is what a lease verb answers, None for commands without a token."""

    status: Status | None
    reason: str


def decide(work: Work, command: c.Command) -> Events | Refusal:
    """What this command makes of the work; no event means that there is nothing to do."""
    match command:
        case c.Claim():
            return _claim(work, command)
        case c.Renew() | c.Ack() | c.Release() | c.Park():
            return _refusal(work, command.token, command.now) or _of_holder(work, command)
        case c.Resume(now):
            return (e.Resumed(now),) if work.state is State.PARKED else Refusal(None, "not parked")
        case c.Reap(now):
            return _reap(work, now)
        case c.Redrive(now):
            return (e.Redriven(now),) if work.state is State.DEAD else Refusal(None, "not dead")
        case c.Hold() | c.Unhold() | c.Withdraw():
            return _of_subscription(work, command)


def _claim(work: Work, command: c.Claim) -> Events | Refusal:
    if work.state is not State.READY or work.held_by or command.now < work.ready_at:
        return Refusal(None, "not claimable")
    if work.give_up_at is not None and work.give_up_at <= command.now:
        return Refusal(None, "given up")
    if work.token is not None and command.token <= work.token:
        raise ValueError(f"token {command.token} is not above {work.token}")
    return (e.Claimed(command.now, command.token, command.lease or work.terms.lease),)


def _refusal(work: Work, token: int, now: datetime) -> Refusal | None:
    """Why this token is not the live lease's; None when it is."""
    if token != work.token:
        return Refusal(Status.STALE, "another lease is the last")
    if work.state is State.LEASED:
        expired = work.until is None or work.until <= now
        return Refusal(Status.EXPIRED, "the lease is over") if expired else None
    if work.ended == "expired":
        return Refusal(Status.EXPIRED, "the lease is over")
    if work.ended == "cancelled":
        return Refusal(Status.CANCELLED, "the lease was cancelled")
    return Refusal(Status.STALE, "the lease was ended by its holder")


def _of_holder(work: Work, command: c.Renew | c.Ack | c.Release | c.Park) -> Events | Refusal:
    match command:
        case c.Renew(now) if work.cancel is not None:
            ended = e.Died(now, work.cancel, "cancelled") if work.withdrawn else e.Cancelled(now, work.cancel)
            return (ended,)
        case c.Renew(now):
            return (e.Renewed(now),)
        case c.Ack(now):
            return (e.Acked(now),)
        case c.Release():
            return (_release(work, command),)
        case c.Park(now, _, waiting_for):
            cancelled = Refusal(Status.CANCELLED, "the work was withdrawn")
            return cancelled if work.withdrawn else (e.Parked(now, waiting_for),)


def _release(work: Work, command: c.Release) -> e.Released | e.Died:
    now, reason = command.now, command.reason
    if work.withdrawn and work.cancel is not None:
        return e.Died(now, work.cancel, "released")
    if reason == "rejected" or reason.startswith("rejected: "):
        return e.Died(now, "rejected", "released")
    if reason == "not_started":
        return e.Released(now, reason, now)
    if work.attempts >= work.terms.max_attempts:
        return e.Died(now, "exhausted", "released")
    return e.Released(now, reason, now + delay(work.attempts, command.retry_after))


def _reap(work: Work, now: datetime) -> Events:
    given_up = work.give_up_at is not None and work.give_up_at <= now and work.age_counts
    if work.state is State.READY and given_up:
        return (e.Died(now, "deadline"),)
    if work.state is not State.LEASED or work.until is None or now < work.until:
        return ()
    if work.withdrawn and work.cancel is not None:
        return (e.Died(now, work.cancel, "expired"),)
    if given_up:
        return (e.Died(now, "deadline", "expired"),)
    if work.attempts >= work.terms.max_attempts:
        return (e.Died(now, "exhausted", "expired"),)
    return (e.Expired(now),)


def _of_subscription(work: Work, command: c.Hold | c.Unhold | c.Withdraw) -> Events | Refusal:
    if work.state in CLOSED:
        return Refusal(None, "closed")
    match command:
        case c.Hold(now, cause, cancel):
            untold = cancel and work.state is State.LEASED and work.cancel is None
            return () if cause in work.held_by and not untold else (e.Held(now, cause, cancel),)
        case c.Unhold(now, cause):
            return (e.Unheld(now, cause),) if cause in work.held_by else ()
        case c.Withdraw(now, reason) if work.state is not State.LEASED:
            return (e.Died(now, reason),)
        case c.Withdraw(now, reason):
            return () if work.withdrawn else (e.Withdrawn(now, reason),)


def evolve(work: Work, event: e.Event) -> Work:
    """The work after this event. Raises `IllegalTransitionError` when the table does not have the move."""
    if isinstance(event, e.Carried):
        return event.work
    try:
        target = _TARGETS[work.state, event.kind]
    except KeyError:
        raise IllegalTransitionError(f"{event.kind} cannot happen to {work.state} work") from None
    changed = replace(_apply(work, event), state=target)
    return _age(changed, event.at)


def _apply(work: Work, event: e.Move) -> Work:
    match event:
        case e.Claimed():
            return _leased(work, event)
        case e.Renewed(at):
            return replace(work, until=_until(work, at))
        case e.Held(_, cause, cancel):
            told = cause if cancel and work.state is State.LEASED and work.cancel is None else work.cancel
            return replace(work, held_by=work.held_by | {cause}, cancel=told)
        case e.Unheld(_, cause):
            told = None if work.cancel == cause and not work.withdrawn else work.cancel
            return replace(work, held_by=work.held_by - {cause}, cancel=told)
        case e.Withdrawn(_, reason):
            return replace(work, cancel=reason, withdrawn=True)
        case e.Resumed(at):
            return replace(work, ready_at=at)
        case e.Redriven(at):
            return Work(work.terms, at)
        case _:
            return _ended(replace(work, cancel=None, withdrawn=False), event)


def _leased(work: Work, event: e.Claimed) -> Work:
    changed = replace(
        work,
        attempts=work.attempts + 1,
        token=event.token,
        granted=event.lease,
        hard_deadline=event.at + work.terms.max_run,
        give_up_at=work.give_up_at or event.at + work.terms.max_age,
        ended=None,
    )
    return replace(changed, until=_until(changed, event.at))


def _until(work: Work, now: datetime) -> datetime:
    if work.granted is None or work.hard_deadline is None or work.give_up_at is None:
        raise IllegalTransitionError("a lease without a claim")
    return min(now + work.granted, work.hard_deadline, work.give_up_at)


def _ended(work: Work, event: e.Acked | e.Released | e.Expired | e.Cancelled | e.Parked | e.Died) -> Work:
    match event:
        case e.Released(_, reason, ready_at):
            attempts = work.attempts - (reason == "not_started")
            return replace(work, ended="released", attempts=attempts, ready_at=ready_at)
        case e.Expired(at):
            return replace(work, ended="expired", ready_at=at)
        case e.Cancelled(at):
            return replace(work, ended="cancelled", attempts=work.attempts - 1, ready_at=at)
        case e.Parked():
            return replace(work, ended="parked", attempts=work.attempts - 1)
        case e.Died(_, reason, after):
            attempts = work.attempts - (after == "cancelled")
            return replace(work, ended=after or work.ended, attempts=attempts, reason=reason)
        case e.Acked():
            return work


def _age(work: Work, at: datetime) -> Work:
    """Stop the clock of the give-up age, or let it run on from where it stood."""
    if not work.age_counts:
        return work if work.still_since is not None else replace(work, still_since=at)
    if work.still_since is None:
        return work
    stood = at - work.still_since
    later = None if work.give_up_at is None else work.give_up_at + stood
    return replace(work, still_since=None, give_up_at=later)
