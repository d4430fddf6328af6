"""Test now: what a condition says of events, judged exactly as live; it wakes nobody, moves no cursor, writes no key."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sereno.envelope.identifiers import to_people
from sereno.execution_plane.evaluator import observed, verdicts
from sereno.execution_plane.evaluator.answer import Answer
from sereno.execution_plane.evaluator.evaluation import Evaluated, Evaluation
from sereno.execution_plane.evaluator.item import names_of
from sereno.execution_plane.evaluator.metering import Meter, told
from sereno.execution_plane.evaluator.observed import Observed
from sereno.execution_plane.evaluator.verdicts import Made
from sereno.execution_plane.guards.condition import criterion_version
from sereno.execution_plane.guards.judgement import EvaluationError
from sereno.execution_plane.guards.subscription import Criterion, Subscription
from sereno.execution_plane.pipeline.directory import compile_object
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.asking import Refused
from sereno.subscriptions.snapshot import CatalogObject

MOST_EVENTS = 50
Shape = TypeVar("Shape", bound=BaseModel)


class Question(BaseModel):
    """A subscription as it stands or might stand, and the events to judge; without any, what came last."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    subscription: CatalogObject
    events: Annotated[tuple[dict[str, Any], ...], Field(max_length=MOST_EVENTS)] | None = None
    most: Annotated[int, Field(ge=1, le=MOST_EVENTS)] = 10
    by: str


class TestNow:
    """Answers tests over `pool` with the evaluation that judges live."""

    __test__ = False

    def __init__(self, pool: AnyPool, evaluation: Evaluation, meter: Meter) -> None:
        self._pool = pool
        self._evaluation = evaluation
        self._meter = meter

    async def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """What the condition says of each event. Raises `Refused`."""
        asked = read_as(Question, question)
        policy = compiled(asked.subscription)
        if policy.condition is None:
            raise Refused(
                422, "bad_input", f"condition: {policy.name} has none, so there is nothing to judge"
            )
        number = await self._meter.admit(policy, asked.by)
        if asked.events is None:
            seen = await observed.received(self._pool, policy, asked.most)
        else:
            seen = observed.given(policy, asked.events, datetime.now(UTC))
        done, made, names = await self._judge(policy, policy.condition, seen)
        await self._meter.write(policy, number, done)
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
            "usage": told(done),
        }

    async def _judge(
        self, policy: Subscription, criterion: Criterion, seen: Sequence[Observed]
    ) -> tuple[Evaluated, dict[str, Made], list[str]]:
        names = names_of([one.name for one in seen])
        events = {name: one.event for name, one in zip(names, seen, strict=True) if one.misses is None}
        done, made = await verdicts.of(self._pool, self._evaluation, policy.tenant, criterion, events)
        return done, made, names


def read_as(shape: type[Shape], question: dict[str, Any]) -> Shape:
    """The question as it came from the other plane. Raises `Refused` naming what is wrong."""
    try:
        return shape.model_validate(question)
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
        "suspicious": [] if made is None else list(made.suspicious),
        "held": made is not None and made.held,
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
