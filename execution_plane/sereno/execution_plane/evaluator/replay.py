"""Replay: a criterion judged again over what people labelled, before it goes live or when another model judges it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from sereno.envelope.identifiers import to_people
from sereno.execution_plane.evaluator import criteria, verdicts
from sereno.execution_plane.evaluator.answer import Answer
from sereno.execution_plane.evaluator.evaluation import Evaluated, Evaluation
from sereno.execution_plane.evaluator.item import names_of
from sereno.execution_plane.evaluator.metering import Meter, told
from sereno.execution_plane.evaluator.testing import compiled, read_as
from sereno.execution_plane.guards.condition import criterion_version
from sereno.execution_plane.guards.judgement import EvaluationError
from sereno.execution_plane.guards.subscription import Criterion, Subscription
from sereno.execution_plane.quality import score
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.asking import Refused
from sereno.subscriptions.snapshot import CatalogObject

MOST = 200
"""Labelled verdicts of a replay; the newest."""
_SQL = queries.load("sereno.execution_plane.evaluator", "replay.sql")


class Question(BaseModel):
    """A subscription as it stands or might stand."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    subscription: CatalogObject
    by: str


class Known(NamedTuple):
    """A labelled verdict: whether it was right, what should have been judged, and the event while it is kept."""

    receipt: str
    right: bool
    meant: bool
    event: Mapping[str, Any] | None


class Replay:
    """Answers replays over `pool` with the evaluation that judges live."""

    def __init__(self, pool: AnyPool, evaluation: Evaluation, meter: Meter) -> None:
        self._pool = pool
        self._evaluation = evaluation
        self._meter = meter

    async def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """How right the criterion is by the labels, beside how right the verdicts were. Raises `Refused`."""
        asked = read_as(Question, question)
        policy = compiled(asked.subscription)
        if policy.condition is None:
            raise Refused(
                422, "bad_input", f"condition: {policy.name} has none, so there is nothing to judge"
            )
        known = await self._known(policy)
        kept = [one for one in known if one.event is not None]
        if not kept:
            return _told(policy.condition, known, [], {}, Evaluated())
        number = await self._meter.admit(policy, asked.by)
        names = names_of([(str((one.event or {}).get("id")), one.receipt) for one in kept])
        events = {name: one.event for name, one in zip(names, kept, strict=True) if one.event is not None}
        done, made = await verdicts.of(self._pool, self._evaluation, policy.tenant, policy.condition, events)
        await self._meter.write(policy, number, done)
        result = _told(policy.condition, known, names, done.answers, done)
        model = next((one.model for one in made.values() if one.model is not None), None)
        if model is not None:
            await criteria.replayed(
                self._pool, policy.tenant, policy.name, policy.condition, model=model, result=result
            )
        return result

    async def _known(self, policy: Subscription) -> list[Known]:
        rows = await self._pool.fetch(_SQL["labelled"], policy.tenant, policy.name, MOST)
        return [
            Known(
                str(row["receiptid"]),
                row["label"] == "right",
                row["fires"] == (row["label"] == "right"),
                row["envelope"],
            )
            for row in rows
        ]


def _told(
    criterion: Criterion,
    known: Sequence[Known],
    names: Sequence[str],
    answers: Mapping[str, Answer],
    done: Evaluated,
) -> dict[str, Any]:
    kept = [one for one in known if one.event is not None]
    judged = (
        [(name, one, meets(answers[name], criterion)) for name, one in zip(names, kept, strict=True)]
        if names
        else []
    )
    after = score.counted([(met, one.meant) for _, one, met in judged])
    before = score.counted([(one.right == one.meant, one.meant) for one in kept])
    return {
        "criterion_version": criterion_version(criterion),
        "labelled": len(kept),
        "gone": len(known) - len(kept),
        "errors": sum(isinstance(answer, EvaluationError) for answer in answers.values()),
        "before": {"right": before.right, **before.as_json()},
        "after": {"right": after.right, **after.as_json()},
        "changed": [
            {"event": to_people("rcp", one.receipt), "meant": one.meant, "met": met}
            for _, one, met in judged
            if (met == one.meant) != one.right
        ],
        "usage": told(done),
    }


def meets(answer: Answer, criterion: Criterion) -> bool:
    """Whether a verdict would lead to a wake-up; an error never does."""
    if isinstance(answer, EvaluationError):
        return False
    return answer.fires and answer.confidence >= criterion.min_confidence
