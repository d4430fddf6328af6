"""Decides whether an event is one that a subscription asked for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sereno.subscriptions.expression import Expression, FilterFault, compile_expression, context_of
from sereno.subscriptions.models.filter import Filter

__all__ = ["FilterFault", "Predicate", "compile_filters", "faults_of"]

_Test = Callable[[Mapping[str, Any], Any], bool]


@dataclass(frozen=True, slots=True)
class Predicate:
    """Whether all filters hold for an event, given as its flat CloudEvents mapping (`data` included).

    May raise FilterFault. `context` may be shared between predicates (`filters.context_of`).
    """

    tests: tuple[_Test, ...]
    uses_cel: bool

    def __call__(self, attributes: Mapping[str, Any], context: Any = None) -> bool:
        if self.uses_cel and context is None:
            context = context_of(attributes)
        return all(test(attributes, context) for test in self.tests)


def compile_filters(filters: Sequence[Filter]) -> Predicate:
    """The predicate that holds when every filter holds; none at all hold for every event.

    ValueError when a CEL expression is not accepted (see `faults_of` for all of them).
    """
    uses_cel = any(True for _ in _expressions(filters, ()))
    return Predicate(tuple(map(_compile, filters)), uses_cel)


def faults_of(filters: Sequence[Filter]) -> list[tuple[tuple[str | int, ...], str]]:
    """Every CEL expression that is not accepted: its path below `filters`, and what is wrong at which position."""
    faults = []
    for path, source in _expressions(filters, ()):
        try:
            compile_expression(source)
        except ValueError as fault:
            faults.append((path, str(fault)))
    return faults


def _expressions(
    filters: Sequence[Filter], path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for index, one in enumerate(filters):
        here = (*path, index)
        yield from _expression_in(one, here)


def _expression_in(one: Filter, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if one.cel is not None:
        yield (*path, "cel"), one.cel
    if one.not_ is not None:
        yield from _expression_in(one.not_, (*path, "not"))
    yield from _expressions(one.all or (), (*path, "all"))
    yield from _expressions(one.any or (), (*path, "any"))


def _compile(one: Filter) -> _Test:
    if one.exact is not None:
        return _on_attributes(one.exact, lambda value, wanted: value == wanted)
    if one.prefix is not None:
        return _on_attributes(one.prefix, str.startswith)
    if one.suffix is not None:
        return _on_attributes(one.suffix, str.endswith)
    if one.all is not None:
        tests = tuple(map(_compile, one.all))
        return lambda attributes, context: all(test(attributes, context) for test in tests)
    if one.any is not None:
        tests = tuple(map(_compile, one.any))
        return lambda attributes, context: any(test(attributes, context) for test in tests)
    if one.not_ is not None:
        test = _compile(one.not_)
        return lambda attributes, context: not test(attributes, context)
    return _on_expression(compile_expression(one.cel or ""))


def _on_attributes(wanted: Mapping[str, str], compare: Callable[[str, str], bool]) -> _Test:
    pairs = tuple(wanted.items())

    def test(attributes: Mapping[str, Any], _context: Any) -> bool:
        return all(
            (value := _text(attributes.get(name))) is not None and compare(value, expected)
            for name, expected in pairs
        )

    return test


def _text(value: Any) -> str | None:
    """An attribute in its CloudEvents string form; None when the event lacks it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else None


def _on_expression(expression: Expression) -> _Test:
    return expression.holds
