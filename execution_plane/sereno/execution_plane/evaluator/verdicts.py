"""Verdicts about events, and with what each was made; live running, tests and replays ask the same."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from sereno.execution_plane.evaluator import prompt, referred
from sereno.execution_plane.evaluator.evaluation import Evaluated, Evaluation, Usage
from sereno.execution_plane.evaluator.item import input_hash, item_of
from sereno.execution_plane.guards.condition import criterion_version
from sereno.execution_plane.guards.judgement import EvaluationError
from sereno.execution_plane.guards.subscription import Criterion
from sereno.mailbox.connection import AnyPool


class Made(NamedTuple):
    """With what a verdict was made: the version of the criterion, the hash of what was judged, and by whom."""

    criterion: str
    input: str | None
    evaluator: str | None
    model: str | None
    prompt: str

    def as_json(self) -> dict[str, Any]:
        """Without what is not known."""
        return {name: value for name, value in self._asdict().items() if value is not None}


async def of(
    pool: AnyPool,
    evaluation: Evaluation,
    tenant: str,
    criterion: Criterion,
    events: Mapping[str, Mapping[str, Any]],
) -> tuple[Evaluated, dict[str, Made]]:
    """The answer about each event (flat JSON, by its name), and with what it was made; a test asks this too."""
    version = criterion_version(criterion)
    whole = dict(zip(events, await referred.with_data(pool, tenant, list(events.values())), strict=True))
    items = {
        name: item_of(name, event) for name, event in whole.items() if not isinstance(event, EvaluationError)
    }
    done = await evaluation.judge(criterion.text, version, list(items.values()))
    done.answers |= {name: event for name, event in whole.items() if isinstance(event, EvaluationError)}
    models = {one.name: one.model for one in evaluation.evaluators}
    made = {
        name: Made(
            version,
            input_hash(version, items[name]) if name in items else None,
            done.judges.get(name),
            models.get(done.judges.get(name, "")),
            prompt.VERSION,
        )
        for name in events
    }
    return done, made


def costs_of(usage: Iterable[Usage]) -> dict[str, Decimal]:
    """What calls cost, by currency."""
    costs: defaultdict[str, Decimal] = defaultdict(Decimal)
    for used in usage:
        costs[used.currency] += used.cost
    return dict(costs)
