"""Whether an edit of a subscription could do more than what was approved before."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from sereno.subscriptions.duration import parse_duration
from sereno.subscriptions.models.types import parse_instant
from sereno.subscriptions.rate import parse_money_rate, parse_rate

MODES = ("observe", "draft", "ask_each_time", "auto_low_risk")
# Text and order of work: no more is woken by them. All else that is not known here counts as widening.
_NEUTRAL = frozenset({"workspace", "delivery", "misfire"})


def widening(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields by which the second text allows more than the first, both in stored form; none when it only narrows."""
    return tuple(dict.fromkeys(_fields(before, after)))


def _fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted((before.keys() | after.keys()) - _NEUTRAL):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if name == "limits":
            yield from _limits(old or {}, new or {})
        elif name == "filters":
            # All must hold, so one more narrows and one less widens.
            if any(one not in (new or []) for one in old or []):
                yield name
        elif name == "mode":
            if MODES.index(new) > MODES.index(old):
                yield name
        elif name == "sender":
            if new == "any":
                yield name
        else:
            yield name


def _limits(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old != new and not _narrows(name, old, new):
            yield f"limits.{name}"


def _narrows(name: str, old: Any, new: Any) -> bool:
    if new is None:
        return False
    if name == "expires":
        return old is None or parse_instant(new) <= parse_instant(old)
    if name == "max_occurrences":
        return old is None or bool(new <= old)
    if name == "reentry":
        return old is not None and bool(new <= old)
    if name == "cooldown":
        return old is None or (_length(new["every"]) >= _length(old["every"]) and new["then"] == old["then"])
    if name == "budget":
        return _budget(old or {}, new)
    if name == "storm":
        return old is None or (
            _at_most(new["threshold"], old["threshold"]) and new.get("per_object") == old.get("per_object")
        )
    return old is None and name == "quiet_hours"


def _budget(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    activations = old.get("activations") is None or (
        new.get("activations") is not None and _at_most(new["activations"], old["activations"])
    )
    return activations and _cost(old.get("cost"), new.get("cost"))


def _cost(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> bool:
    if old is None or old == new:
        return True
    if new is None:
        return False
    before, after = parse_money_rate(old["limit"]), parse_money_rate(new["limit"])
    return (
        before.money.currency == after.money.currency
        and before.per == after.per
        and after.money.amount <= before.money.amount
    )


def _length(text: str) -> timedelta:
    return parse_duration(text)


def _at_most(new: str, old: str) -> bool:
    after, before = parse_rate(new), parse_rate(old)
    return after.per == before.per and after.count <= before.count
