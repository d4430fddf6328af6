"""Verdicts in a simulation: what an evaluator said of a candidate, given by a line."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sereno.envelope.encode import flat
from sereno.execution_plane.guards.changes import Charge, RememberPatience, Suspend
from sereno.execution_plane.guards.condition import met
from sereno.execution_plane.guards.judgement import EvaluationError, Judged, read
from sereno.execution_plane.guards.judgement import judge as judge_fields
from sereno.execution_plane.guards.patience import Patience, tried
from sereno.execution_plane.guards.suspension import Suspension, suspension_id
from sereno.execution_plane.guards.usage import cost_of
from sereno.execution_plane.pipeline.arrival import Arrival
from sereno.execution_plane.simulate import said
from sereno.execution_plane.simulate.agenda import Key
from sereno.execution_plane.simulate.backlog import Held
from sereno.execution_plane.simulate.declared import Refused
from sereno.execution_plane.simulate.lines import Verdict
from sereno.execution_plane.simulate.said import Output
from sereno.execution_plane.simulate.world import World

_FIELDS = ("fires", "confidence", "evidence")


def judge(world: World, line: Verdict) -> Iterator[Output]:
    """What a verdict does, for each subscription for which the event waits; Refused when it waits for none."""
    keys = world.backlog.candidate_of(line.event, line.subscription, line.tenant)
    if not keys:
        raise Refused(f"event: {line.event} waits for no verdict")
    for key in keys:
        yield from _judge(world, key, line)


def _judge(world: World, key: Key, line: Verdict) -> Iterator[Output]:
    candidate = world.backlog.candidates[key][line.event]
    _charge(world, key, line)
    answer = _answer(line, candidate)
    policy = world.subscriptions[key].compiled
    needed = 0.0 if policy.condition is None else policy.condition.min_confidence
    if isinstance(answer, EvaluationError):
        yield said.decision(
            line.at,
            line.event,
            key[1],
            outcome="error",
            guard="condition",
            reason=answer.kind,
            numbers={"fault": answer.detail},
        )
    elif not answer.fires or answer.confidence < needed:
        del world.backlog.candidates[key][line.event]
        yield said.decision(
            line.at,
            line.event,
            key[1],
            outcome="dropped",
            guard="condition",
            reason="not_met",
            numbers={"fires": answer.fires, "confidence": answer.confidence, "min_confidence": needed},
        )
    else:
        del world.backlog.candidates[key][line.event]
        yield from _met(world, key, candidate, answer, line.at)
    yield from _patience(world, key, candidate, answer, line.at)


def _answer(line: Verdict, candidate: Held) -> Judged | EvaluationError:
    items = {candidate.arrival.envelope.id: candidate.arrival.attributes}
    if line.error is not None:
        return EvaluationError(line.error, "said by the line")
    if line.answer is not None:
        return read(line.answer, items)
    fields: dict[str, Any] = {name: getattr(line, name) for name in _FIELDS if name in line.model_fields_set}
    # A verdict that a person writes down may leave its evidence out.
    return judge_fields({"evidence": [], **fields}, items)


def _met(world: World, key: Key, candidate: Held, judged: Judged, at: datetime) -> Iterator[Output]:
    policy = world.subscriptions[key].compiled
    envelope = candidate.arrival.envelope
    if policy.condition is None:
        # An edit took the condition away: the candidate needs no verdict any more.
        return
    receiptid = f"condition/{policy.name}#{envelope.receiptid}"
    world.causes[key[0], envelope.receiptid] = candidate.ancestors
    event = met(envelope, candidate.arrival.attributes, policy, judged, receiptid=receiptid, now=at)
    attributes = flat(event)
    yield from world.arrive(Arrival(event, attributes, world.index.match(event, attributes), 0), at)


def _charge(world: World, key: Key, line: Verdict) -> None:
    """What the evaluation itself cost counts on the budgets of its subscription."""
    budgets = world.subscriptions[key].compiled.budgets
    entries = () if budgets is None else budgets.entries(line.at)
    try:
        cost = cost_of(line.usage, next((e.limit.measure for e in entries if e.limit.is_money), None))
    except ValueError as fault:
        raise Refused(f"usage: {fault}") from None
    world.ledger.apply(
        Charge(entry.account, money.amount)
        for money in cost
        for entry in entries
        if entry.limit.measure == money.currency
    )


def _patience(
    world: World, key: Key, candidate: Held, answer: Judged | EvaluationError, at: datetime
) -> Iterator[Output]:
    after = tried(
        world.ledger.patience.get(key, Patience()), answer, candidate.arrival.attributes.get("data")
    )
    world.ledger.apply([RememberPatience(key, after.patience)])
    if after.suspends is None or world.ledger.suspensions.get(key):
        return
    receiptid = candidate.arrival.envelope.receiptid
    suspension = Suspension(
        suspension_id(at, *key, after.suspends, receiptid),
        *key,
        after.suspends,
        at,
        receiptid,
        {"count": after.tries, "limit": after.limit},
    )
    world.ledger.apply([Suspend(suspension)])
    yield world.suspended(suspension, at)
