"""Decides whether an event is one that a subscription asked for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sereno.subscriptions.expression import Event, FilterFault, compile_expression, read_on_demand
from sereno.subscriptions.models.filter import Filter

__all__ = ["Attributes", "FilterFault", "Predicate", "compile_filters"]


class Attributes(dict[str, Any]):
    """An event's flat CloudEvents mapping, not changed once made: what expressions read of it is converted once."""

    @cached_property
    def event(self) -> Event:
        """The event as expressions see it."""
        return read_on_demand(self)


def of(event: Mapping[str, Any]) -> Attributes:
    """The same event in the form that filters and keys share."""
    return event if isinstance(event, Attributes) else Attributes(event)


_Test = Callable[[Attributes], bool]


@dataclass(frozen=True, slots=True)
class Predicate:
    """Whether all filters hold for an event, given as its flat CloudEvents mapping (`data` included).

    An attribute or field that the event lacks makes a filter not hold; FilterFault when one cannot be evaluated.
    Give `Attributes` to share the conversion between predicates.
    """

    tests: tuple[_Test, ...]

    def __call__(self, attributes: Mapping[str, Any]) -> bool:
        event = of(attributes)
        for test in self.tests:  # noqa: SIM110 - asked for every event and subscription, and a generator costs more
            if not test(event):
                return False
        return True


def compile_filters(filters: Sequence[Filter]) -> Predicate:
    """The predicate that holds when every filter holds; none at all hold for every event.

    ValueError when a CEL expression is not accepted.
    """
    return Predicate(tuple(map(_compile, filters)))


def _compile(one: Filter) -> _Test:
    if one.exact is not None:
        return _on_attributes(one.exact, str.__eq__)
    if one.prefix is not None:
        return _on_attributes(one.prefix, str.startswith)
    if one.suffix is not None:
        return _on_attributes(one.suffix, str.endswith)
    if one.all is not None:
        return compile_filters(one.all)
    if one.any is not None:
        return _any(tuple(map(_compile, one.any)))
    if one.not_ is not None:
        return _not(_compile(one.not_))
    return _on_expression(one.cel or "")


def _any(tests: tuple[_Test, ...]) -> _Test:
    return lambda event: any(test(event) for test in tests)


def _not(test: _Test) -> _Test:
    return lambda event: not test(event)


def _on_attributes(wanted: Mapping[str, str], compare: Callable[[str, str], bool]) -> _Test:
    pairs = tuple(wanted.items())

    def test(event: Attributes) -> bool:
        for name, text in pairs:
            value = _text(event.get(name))
            if value is None or not compare(value, text):
                return False
        return True

    return test


def _text(value: Any) -> str | None:
    """An attribute in its CloudEvents string form; None when the event lacks it or it is no attribute."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else None


def _on_expression(source: str) -> _Test:
    expression = compile_expression(source)
    return lambda event: expression.holds(event.event)
