"""An evaluator's answer read strictly: per item a verdict, or why there is none."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sereno.execution_plane.evaluator.item import Item
from sereno.execution_plane.guards import judgement
from sereno.execution_plane.guards.judgement import EvaluationError, Judged

Answer = Judged | EvaluationError


def read(text: str, items: Sequence[Item], as_written: Callable[[str], str]) -> dict[str, Answer]:
    """The answers by item id; `as_written` undoes in a quote what the prompt did to its item."""
    document = judgement.decode(text)
    if isinstance(document, EvaluationError):
        return dict.fromkeys((item.id for item in items), document)
    if len(items) == 1 and "verdicts" not in document:
        return {items[0].id: _one(document, items[0], as_written)}
    return _many(document, items, as_written)


def _many(
    document: Mapping[str, Any], items: Sequence[Item], as_written: Callable[[str], str]
) -> dict[str, Answer]:
    verdicts = document.get("verdicts")
    if not isinstance(verdicts, list) or not all(isinstance(verdict, Mapping) for verdict in verdicts):
        kind: judgement.ErrorKind = "wrong_type" if "verdicts" in document else "missing_field"
        fault = EvaluationError(kind, "verdicts: expected a list with one object per item")
        return dict.fromkeys((item.id for item in items), fault)
    about: defaultdict[Any, list[Mapping[str, Any]]] = defaultdict(list)
    for verdict in verdicts:
        name = verdict.get("item")
        if isinstance(name, str):
            about[name].append(verdict)
    return {item.id: _of(item, about[item.id], as_written) for item in items}


def _of(item: Item, mine: Sequence[Mapping[str, Any]], as_written: Callable[[str], str]) -> Answer:
    if not mine:
        return EvaluationError("missing_field", f"verdicts: there is none about {item.id}")
    if len(mine) > 1:
        return EvaluationError("wrong_type", f"verdicts: expected one about {item.id}; found {len(mine)}")
    return _one(mine[0], item, as_written)


def _one(document: Mapping[str, Any], item: Item, as_written: Callable[[str], str]) -> Answer:
    evidence = document.get("evidence")
    if isinstance(evidence, list):
        document = {**document, "evidence": [_restored(one, as_written) for one in evidence]}
    return judgement.judge(document, {item.id: item.data})


def _restored(one: Any, as_written: Callable[[str], str]) -> Any:
    if isinstance(one, Mapping) and isinstance(one.get("quote"), str):
        return {**one, "quote": as_written(one["quote"])}
    return one
