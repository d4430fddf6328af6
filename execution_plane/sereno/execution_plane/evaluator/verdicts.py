"""Verdicts about events, and with what each was made; live running, tests and replays ask the same."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from sereno.execution_plane.evaluator import meters, prompt, referred, suspicion
from sereno.execution_plane.evaluator.evaluation import Evaluated, Evaluation, Usage
from sereno.execution_plane.evaluator.item import Item, input_hash, item_of
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
    suspicious: tuple[str, ...] = ()
    held: bool = False

    def as_json(self) -> dict[str, Any]:
        """Without what is not known."""
        return {name: value for name, value in self._asdict().items() if value not in {None, (), False}}


async def of(
    pool: AnyPool,
    evaluation: Evaluation,
    tenant: str,
    criterion: Criterion,
    events: Mapping[str, Mapping[str, Any]],
) -> tuple[Evaluated, dict[str, Made]]:
    """The answer about each event (flat JSON, by its name), and with what it was made; none where content is held."""
    version = criterion_version(criterion)
    whole = dict(zip(events, await referred.with_data(pool, tenant, list(events.values())), strict=True))
    events_kept = {name: one for name, one in whole.items() if not isinstance(one, EvaluationError)}
    found = {name: suspicion.names(one.get("data")) for name, one in events_kept.items()}
    items = {name: _item(name, one, found[name], criterion) for name, one in events_kept.items()}
    held = {name for name, signs in found.items() if signs and criterion.suspicious == "hold"}
    began = time.perf_counter()
    done = await evaluation.judge(
        criterion.text, version, [item for name, item in items.items() if name not in held]
    )
    meters.judged(tenant, done, time.perf_counter() - began)
    done.answers |= {name: one for name, one in whole.items() if isinstance(one, EvaluationError)}
    models = {one.name: one.model for one in evaluation.evaluators}
    made = {
        name: Made(
            version,
            input_hash(version, items[name]) if name in items else None,
            done.judges.get(name),
            models.get(done.judges.get(name, "")),
            prompt.VERSION,
            found.get(name, ()),
            name in held,
        )
        for name in events
    }
    return done, made


def _item(name: str, event: Mapping[str, Any], signs: tuple[str, ...], criterion: Criterion) -> Item:
    if signs and criterion.suspicious == "mask":
        event = {**event, "data": suspicion.masked(event.get("data"))}
    return item_of(name, event)


def costs_of(usage: Iterable[Usage]) -> dict[str, Decimal]:
    """What calls cost, by currency."""
    costs: defaultdict[str, Decimal] = defaultdict(Decimal)
    for used in usage:
        costs[used.currency] += used.cost
    return dict(costs)
