"""Test now: what a condition says of events, judged exactly as live; it wakes nobody, moves no cursor, writes no key."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sereno.envelope.identifiers import RANDOM_BYTES, to_people, uuid7
from sereno.execution_plane.accounts import usage_log
from sereno.execution_plane.accounts.usage_log import Used
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.evaluator import egress_log, observed, verdicts
from sereno.execution_plane.evaluator.answer import Answer
from sereno.execution_plane.evaluator.evaluation import Evaluated, Evaluation
from sereno.execution_plane.evaluator.item import names_of
from sereno.execution_plane.evaluator.observed import SQL, Observed
from sereno.execution_plane.evaluator.verdicts import Made, costs_of
from sereno.execution_plane.guards.condition import criterion_version
from sereno.execution_plane.guards.judgement import EvaluationError
from sereno.execution_plane.guards.subscription import Criterion, Subscription
from sereno.execution_plane.pipeline.directory import compile_object
from sereno.mailbox import stop
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.asking import Refused
from sereno.subscriptions.snapshot import CatalogObject

MOST_EVENTS = 50
MOST_IN_A_MINUTE = 20
"""Tests of a tenant, over all replicas."""


class Question(BaseModel):
    """A subscription as it stands or might stand, and the events to judge; without any, what came last."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    subscription: CatalogObject
    events: Annotated[tuple[dict[str, Any], ...], Field(max_length=MOST_EVENTS)] | None = None
    most: Annotated[int, Field(ge=1, le=MOST_EVENTS)] = 10
    by: str


class TestNow:
    """Answers tests over `pool` with the evaluation that judges live; `random` gives bytes for ids."""

    __test__ = False

    def __init__(
        self, pool: AnyPool, catalog: Catalog, evaluation: Evaluation, random: Callable[[int], bytes]
    ) -> None:
        self._pool = pool
        self._catalog = catalog
        self._evaluation = evaluation
        self._random = random

    async def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """What the condition says of each event. Raises `Refused`."""
        asked = read(question)
        policy = compiled(asked.subscription)
        if policy.condition is None:
            raise Refused(
                422, "bad_input", f"condition: {policy.name} has none, so there is nothing to judge"
            )
        number = await self._admit(policy, asked.by)
        if asked.events is None:
            seen = await observed.received(self._pool, policy, asked.most)
        else:
            seen = observed.given(policy, asked.events, datetime.now(UTC))
        done, made, names = await self._judge(policy, policy.condition, seen)
        await egress_log.write(self._pool, policy.tenant, policy.name, done.egress)
        await self._meter(policy, number, done)
        return {
            "tenant": policy.tenant,
            "subscription": policy.name,
            "criterion": policy.condition.text,
            "criterion_version": criterion_version(policy.condition),
            "min_confidence": policy.condition.min_confidence,
            "observed": "received" if asked.events is None else "given",
            "items": [
                _item(one, done.answers.get(name), made.get(name), policy.condition)
                for name, one in zip(names, seen, strict=True)
            ],
            "usage": _usage(done),
        }

    async def _judge(
        self, policy: Subscription, criterion: Criterion, seen: Sequence[Observed]
    ) -> tuple[Evaluated, dict[str, Made], list[str]]:
        names = names_of([one.name for one in seen])
        events = {name: one.event for name, one in zip(names, seen, strict=True) if one.misses is None}
        done, made = await verdicts.of(self._pool, self._evaluation, policy.tenant, criterion, events)
        return done, made, names

    async def _admit(self, policy: Subscription, by: str) -> UUID:
        """The number of the test, once neither a stop, nor a paused source, nor the pace stands against it."""
        paused = _paused_source(self._catalog, policy)
        if paused is not None:
            raise Refused(409, "paused", f"{paused} is paused")
        at = datetime.now(UTC)
        number = uuid7(int(at.timestamp() * 1000), self._random(RANDOM_BYTES))
        async with self._pool.acquire() as conn, conn.transaction():
            for scope in await stop.scopes(conn, [policy.tenant]):
                if scope.covers(policy.tenant, policy.agent, policy.name):
                    raise Refused(409, "stopped", f"the emergency stop stands (scope {scope})")
            await conn.execute(SQL["turn"], policy.tenant)
            taken = await conn.fetchval(SQL["take"], policy.tenant, number, policy.name, by, MOST_IN_A_MINUTE)
        if taken is None:
            raise Refused(
                429, "rate_limited", f"expected at most {MOST_IN_A_MINUTE} tests a minute in {policy.tenant}"
            )
        return number

    async def _meter(self, policy: Subscription, number: UUID, done: Evaluated) -> None:
        model = done.usage[0].model if done.usage else None
        costs: Mapping[str, Decimal | None] = {
            currency: cost for currency, cost in costs_of(done.usage).items() if cost
        } or {"": None}
        at, reference = datetime.now(UTC), str(number)
        rows = [
            Used(
                policy.tenant,
                reference,
                currency,
                at,
                policy.name,
                policy.agent,
                model,
                "tested",
                cost,
                None,
            )
            for currency, cost in costs.items()
        ]
        async with self._pool.acquire() as conn:
            await usage_log.write(conn, "test", rows)


def read(question: dict[str, Any]) -> Question:
    """The question as it came from the other plane. Raises `Refused` naming what is wrong."""
    try:
        return Question.model_validate(question)
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise Refused(422, "bad_input", f"{place}: {first['msg']}") from None


def compiled(declared: CatalogObject) -> Subscription:
    """The subscription ready to match. Raises `Refused` when this process does not know its form."""
    try:
        return compile_object(declared)
    except ValueError as fault:
        raise Refused(422, "bad_input", f"{declared.name}: {fault}") from None


def _paused_source(catalog: Catalog, policy: Subscription) -> str | None:
    family, _, name = policy.origin.partition("/")
    kind = {"webhook": "Endpoint", "mcp": "Connector"}.get(family)
    known = catalog.tenant(policy.tenant)
    for one in () if known is None else known.objects.values():
        if str(one.kind) == kind and one.name == name and one.state == "paused":
            return f"{kind} {name}"
    return None


def _item(one: Observed, answer: Answer | None, made: Made | None, criterion: Criterion) -> dict[str, Any]:
    told: dict[str, Any] = {
        "event": one.event["id"],
        "receipt": None if one.receipt is None else to_people("rcp", one.receipt),
        "matches": one.misses is None,
        "misses": one.misses,
        "input": None if made is None else made.input,
        "evaluator": None if made is None else made.evaluator,
        "model": None if made is None else made.model,
        "verdict": None,
        "error": None,
        "meets": False,
    }
    if isinstance(answer, EvaluationError):
        return {**told, "error": {"kind": answer.kind, "detail": answer.detail}}
    if answer is None:
        return told
    verdict = {
        "fires": answer.fires,
        "confidence": answer.confidence,
        "evidence": [quote.as_json() for quote in answer.evidence],
        "calibrated": False,
    }
    meets = answer.fires and answer.confidence >= criterion.min_confidence
    return {**told, "verdict": verdict, "meets": meets}


def _usage(done: Evaluated) -> dict[str, Any]:
    return {
        "calls": sum(one.calls for one in done.usage),
        "input_tokens": sum(one.input_tokens for one in done.usage),
        "output_tokens": sum(one.output_tokens for one in done.usage),
        "cost": [
            {"amount": str(amount), "currency": currency}
            for currency, amount in costs_of(done.usage).items()
            if amount
        ],
    }
