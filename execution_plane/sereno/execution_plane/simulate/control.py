"""What the control lines of a simulation do: people, workers, evaluators and the stop."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from sereno.execution_plane.guards.resumption import Choice, resume
from sereno.execution_plane.guards.suspension import Suspension
from sereno.execution_plane.manifest.change import Effect, changes
from sereno.execution_plane.simulate import said
from sereno.execution_plane.simulate.agenda import Key
from sereno.execution_plane.simulate.backlog import Held
from sereno.execution_plane.simulate.budgets import extended, report
from sereno.execution_plane.simulate.declared import Declared, Refused, edit, revoke, step
from sereno.execution_plane.simulate.evaluation import judge
from sereno.execution_plane.simulate.lines import (
    Advance,
    Claim,
    Control,
    Edit,
    Line,
    LineFault,
    OfLease,
    Received,
    Resume,
    Revoke,
    Standing,
    Stop,
    Verdict,
)
from sereno.execution_plane.simulate.redecide import re_enter
from sereno.execution_plane.simulate.said import Output
from sereno.execution_plane.simulate.world import SUSPENDED, World
from sereno.mailbox.lease import commands
from sereno.mailbox.scope import EVERYTHING, Scope
from sereno.subscriptions.lifecycle import State


def run(world: World, lines: Iterable[tuple[int, Line]], until: datetime | None) -> Iterator[Output]:
    """What every line prints, in order; what comes due meanwhile is printed at its time, until `until`."""
    for number, line in lines:
        yield from world.pass_time(line.at if until is None else min(until, line.at))
        if isinstance(line, Received):
            yield from world.arrive(line.arrival(world.index), line.at)
            continue
        try:
            yield from do(world, line)
        except Refused as fault:
            raise LineFault(number, str(fault)) from None
        yield from world.pass_time(line.at if until is None else min(until, line.at))
    if until is not None:
        yield from world.pass_time(until)


def do(world: World, line: Control) -> Iterator[Output]:
    """What one control line does and prints; Refused says why it cannot be done."""
    match line:
        case Standing() | Revoke():
            yield from _stand(world, line)
        case Resume():
            yield from _resume(world, line)
        case Edit():
            yield from _edit(world, line)
        case Stop():
            yield from _stop(world, line) if line.do == "stop" else _release(world, line)
        case Verdict():
            yield from judge(world, line)
        case Claim():
            yield _claim(world, line)
        case OfLease():
            yield from _verb(world, line)
        case Advance():
            pass


def _stand(world: World, line: Standing | Revoke) -> Iterator[Output]:
    before = _find(world, line.subscription, line.tenant)
    if isinstance(line, Revoke):
        after = revoke(before, line.cause)
    else:
        after = step(before, line.do, line.reason, line.at)
    _put(world, before, after, line.at)
    reason = line.reason
    if isinstance(line, Revoke) and line.cause != "revoked":
        reason = reason or line.cause
    yield said.state(line.at, after.key[1], _effective(world, after), reason)
    yield from world.flush_all(after.key, line.at)


def _resume(world: World, line: Resume) -> Iterator[Output]:
    before = _find(world, line.subscription, line.tenant)
    key = before.key
    lifted = world.ledger.lift(key, [one.id for one in world.ledger.suspensions.get(key, ())])
    reviewed = _freed(world, key)
    if before.life.state is State.PAUSED or not (lifted or reviewed):
        after = step(before, "resume", line.reason, line.at)
        _put(world, before, after, line.at)
    yield from _lifted(world, key, lifted, line)


def _freed(world: World, key: Key) -> bool:
    """Whether events wait that no open suspension and no stop holds any more."""
    return any(_may_leave(world, key, one) for one in world.backlog.held.get(key, ()))


def _may_leave(world: World, key: Key, held: Held) -> bool:
    if held.suspension is not None:
        return all(held.suspension != one.id for one in world.ledger.suspensions.get(key, ()))
    return world.ledger.stop_of(world.subscriptions[key].compiled) is None


def _lifted(world: World, key: Key, lifted: list[Suspension], line: Resume | Edit) -> Iterator[Output]:
    """Nothing suspends it any more: its messages may be claimed, and what was held goes where the person says."""
    if not world.ledger.suspensions.get(key):
        world.mailbox.of_subscription(*key, commands.Unhold(line.at, SUSPENDED))
    yield said.state(line.at, key[1], _effective(world, world.subscriptions[key]), line.reason)
    stormy = any(one.cause == "storm" for one in lifted)
    yield from let_go(world, key, line.held or ("review" if stormy else "deliver"), line.at)
    yield from world.flush_all(key, line.at)


def let_go(world: World, key: Key, choice: Choice, at: datetime) -> Iterator[Output]:
    """What becomes of the held events of a subscription that nothing holds any more."""
    if choice == "review":
        return
    leaving = world.backlog.take(key, lambda one: _may_leave(world, key, one))
    misfire = world.subscriptions[key].misfire
    cause = leaving[0].cause if leaving else ""
    for place, drop in resume([one.is_slot for one in leaving], choice, misfire, cause):
        yield from re_enter(world, key, leaving[place], drop, at)


def _edit(world: World, line: Edit) -> Iterator[Output]:
    before = _find(world, line.subscription, line.tenant)
    after = edit(before, line.spec, line.reason, line.at)
    _put(world, before, after, line.at)
    lifts = extended(world.ledger, before.compiled, after.compiled, line.at)
    lifted = world.ledger.lift(after.key, lifts)
    if lifted:
        yield from _lifted(world, after.key, lifted, line)
        return
    yield said.state(line.at, after.key[1], _effective(world, after), line.reason)
    yield from world.flush_all(after.key, line.at)


def _stop(world: World, line: Stop) -> Iterator[Output]:
    scope = _scope(world, line.scope)
    if scope not in world.ledger.stops:
        world.ledger.stops += (scope,)
    for key in _within(world, scope):
        world.mailbox.of_subscription(*key, commands.Hold(line.at, scope.cause, cancel=True))
        yield said.state(line.at, key[1], "stopped", line.reason)


def _release(world: World, line: Stop) -> Iterator[Output]:
    scope = _scope(world, line.scope)
    if scope not in world.ledger.stops:
        raise Refused(f"scope: no stop stands for {line.scope}")
    within = _within(world, scope)
    world.ledger.stops = tuple(stop for stop in world.ledger.stops if stop != scope)
    for key in within:
        world.mailbox.of_subscription(*key, commands.Unhold(line.at, scope.cause))
        yield said.state(line.at, key[1], _effective(world, world.subscriptions[key]), line.reason)
    for key in within:
        yield from let_go(world, key, "deliver", line.at)
        yield from world.flush_all(key, line.at)


def _scope(world: World, written: str) -> Scope:
    """The scope that is meant; Refused when it cannot be read or names nothing that is declared."""
    tenants = {tenant for tenant, _ in world.subscriptions}
    text = EVERYTHING if written == "all" else written.removeprefix("tenant:").replace(":", "/")
    if text.startswith(("agent/", "subscription/", "connector/", "family/")) and len(tenants) == 1:
        text = f"{min(tenants)}/{text}"
    try:
        scope = Scope.parse(text)
    except ValueError as fault:
        raise Refused(str(fault)) from None
    if not _within(world, scope):
        raise Refused(f"scope: {written} is not declared")
    return scope


def _within(world: World, scope: Scope) -> list[Key]:
    return [
        key
        for key, declared in sorted(world.subscriptions.items())
        if not declared.is_deleted
        and scope.covers(key[0], declared.compiled.agent, key[1], declared.compiled.origin)
    ]


def _claim(world: World, line: Claim) -> Output:
    agent = line.agent.removeprefix("agent:")
    tenants = [line.tenant] if line.tenant else sorted({tenant for tenant, _ in world.subscriptions})
    leases = [
        lease
        for tenant in tenants
        for lease in world.mailbox.claim(tenant, agent, limit=line.max, lease=line.lease, now=line.at)
    ]
    world.settle_closed(line.at)
    return said.claim(line.at, line.agent, leases)


def _verb(world: World, line: OfLease) -> Iterator[Output]:
    message = world.mailbox.message_of(line.lease)
    status = world.mailbox.verb(
        line.lease, line.do, reason=line.reason, retry_after=line.retry_after, now=line.at
    )
    yield said.lease(line.at, line.lease, status or "unknown")
    if message is not None and status == "ok":
        yield from report(world, message, line.usage, line.at)
    world.settle_closed(line.at)


def _find(world: World, name: str, tenant: str | None) -> Declared:
    found = [key for key in world.subscriptions if key[1] == name and tenant in (None, key[0])]
    if len(found) != 1:
        problem = "is declared in several tenants; say tenant" if found else "is not declared"
        raise Refused(f"subscription: {name} {problem}")
    return world.subscriptions[found[0]]


def _put(world: World, before: Declared, after: Declared, at: datetime) -> None:
    """Put another version or state in force, and do to the messages what the live manifest receiver does to them."""
    world.subscriptions[after.key] = after
    world.reindex(after.key[0])
    world.plan(after.key)
    old = [] if before.taken else [before.object]
    new = [] if after.taken else [after.object]
    for change in changes(after.key[0], old, new):
        for command in _commands(change.effect, at):
            world.mailbox.of_subscription(*after.key, command)


def _effective(world: World, declared: Declared) -> str:
    """Its state as people see it: what was taken, else an end or a pause, else what stands in its way."""
    if declared.taken:
        return "revoked"
    if declared.life.state is not State.ACTIVE:
        return str(declared.life.state)
    if any(one.subject is None for one in world.ledger.suspensions.get(declared.key, ())):
        return SUSPENDED
    return "stopped" if world.ledger.stop_of(declared.compiled) else str(declared.life.state)


def _commands(effect: Effect, at: datetime) -> tuple[commands.Command, ...]:
    match effect:
        case Effect.PAUSED | Effect.REVOKED:
            return (commands.Hold(at, effect.value, cancel=True),)
        case Effect.RESUMED:
            return (commands.Unhold(at, Effect.PAUSED.value),)
        case Effect.RESTORED:
            return (commands.Unhold(at, Effect.REVOKED.value),)
        case Effect.WITHDRAWN:
            return (commands.Withdraw(at, effect.value),)
