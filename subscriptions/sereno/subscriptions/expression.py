"""CEL expressions as filters: compiled once, bounded before they run.

The native evaluator has no cost limit and cannot be interrupted, so what could run long is refused at compile time
(length, nodes, shape) or before the call (what the expression walks over in this event).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sereno.subscriptions.cel_cost import TooCostlyError, Weights, check
from sereno.subscriptions.cel_native import native
from sereno.subscriptions.cel_reads import EVERYTHING, Reads, part_of, reads_of
from sereno.subscriptions.cel_shape import Shape, shape_of
from sereno.subscriptions.cel_token import Token, tokens_of

MAX_CHARACTERS = 1_000
MAX_NODES = 100
# From so many parts of one event on its conversion as a whole is cheaper.
_MOST_PARTS = 4
_LACKS = object()

_FUNCTIONS = frozenset(
    {
        *("size", "contains", "startsWith", "endsWith", "matches"),
        *("int", "uint", "double", "string", "bytes", "dyn", "type", "timestamp", "duration"),
        *("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear"),
        *("getHours", "getMinutes", "getSeconds", "getMilliseconds"),
        *("@in", "@not_strictly_false"),
    }
)
_OPERATOR = re.compile(r"[!@]?[^A-Za-z]*_[^A-Za-z]*")
_POSITION = re.compile(r"<input>:([0-9]+):([0-9]+): (?:Syntax error: )?(.*)")
_ABSENT = re.compile(r"Undefined variable or function: '([a-z][a-z0-9]{0,19})'")


class FilterFault(Exception):  # noqa: N818 - the house calls what is wrong a fault
    """A filter could not be evaluated on this event; the message says which and why."""


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """An event as expressions see it: what they read of it is converted once for all that read the same.

    `contexts` holds what was converted, `answers` what expressions came to, by their source.
    """

    attributes: Mapping[str, Any]
    weights: Weights
    contexts: dict[Reads, Any] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)

    def context(self, reads: Reads) -> Any:
        """What the evaluator is given of it; FilterFault when it cannot hold that."""
        found = self.contexts.get(reads) or self.contexts.get(EVERYTHING)
        if found is None:
            if len(self.contexts) >= _MOST_PARTS:
                reads = EVERYTHING
            found = self.contexts[reads] = _converted(part_of(self.attributes, reads))
        return found


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression, what it walks over, and what it reads of an event."""

    source: str
    program: Any
    shape: Shape
    reads: Reads

    def holds(self, event: Event) -> bool:
        """Whether it is true for the event; a field or attribute that the event lacks makes it not hold.

        FilterFault when it cannot be evaluated, could take too long, or is neither true nor false.
        """
        answer = self.value(event, absent=False)
        if not isinstance(answer, bool):
            raise self._fault(f"expected true or false; found {type(answer).__name__}")
        return answer

    def value(self, event: Event, absent: Any = None) -> Any:
        """What it evaluates to, `absent` when the event lacks a field or attribute.

        FilterFault when it cannot be evaluated or could take too long.
        """
        answers = event.answers
        if self.source not in answers:
            answers[self.source] = self._evaluated(event)
        answer = answers[self.source]
        return absent if answer is _LACKS else answer

    def _evaluated(self, event: Event) -> Any:
        try:
            check(self.shape, event.weights)
            return self.program.execute(event.context(self.reads))
        except KeyError:
            return _LACKS
        except TooCostlyError as fault:
            raise self._fault(str(fault)) from None
        except (TypeError, ValueError, RuntimeError, ArithmeticError, IndexError) as fault:
            if _ABSENT.match(str(fault)):
                return _LACKS
            raise self._fault(_first_sentence(fault)) from None

    def _fault(self, message: str) -> FilterFault:
        return FilterFault(f"cel {self.source!r}: {message}")


def event_of(attributes: Mapping[str, Any]) -> Event:
    """The event with these flat attributes, converted whole; an absent `data` is an empty map.

    FilterFault when CEL cannot hold it.
    """
    event = read_on_demand(attributes)
    event.context(EVERYTHING)
    return event


def read_on_demand(attributes: Mapping[str, Any]) -> Event:
    """The same event, of which no more is converted than expressions read."""
    present = {"data": {}, **{name: value for name, value in attributes.items() if value is not None}}
    return Event(present, Weights(present))


def _converted(variables: Mapping[str, Any]) -> Any:
    try:
        return native().Context(variables=variables)
    except (TypeError, ValueError, OverflowError, RuntimeError) as fault:
        raise FilterFault(f"cel cannot read the event: {_first_sentence(fault)}") from None


def compile_expression(source: str) -> Expression:
    """The expression in `source`; ValueError names line and column of what is not accepted."""
    if not source.strip():
        raise ValueError("expected a CEL expression such as data.priority == 'high'")
    if len(source) > MAX_CHARACTERS:
        raise ValueError(f"expected at most {MAX_CHARACTERS:,} characters of CEL; found {len(source):,}")
    tokens = tokens_of(source)
    nodes = sum(token.is_node for token in tokens)
    if nodes > MAX_NODES:
        raise ValueError(f"expected at most {MAX_NODES} names, values and operators in CEL; found {nodes}")
    try:
        program = native().compile(source)
    except ValueError as fault:
        raise ValueError(_syntax(str(fault))) from None
    shape = shape_of(source, tokens)
    _check_functions(source, tokens, program.functions())
    expression = Expression(source, program, shape, reads_of(shape))
    if not shape.reads_event:
        _check_constant(expression)
    return expression


def _check_constant(expression: Expression) -> None:
    """One that reads nothing of the event answers the same for each, so a wrong answer is known now."""
    try:
        expression.holds(event_of({}))
    except FilterFault as fault:
        raise ValueError(f"{fault}, for every event") from None


def _check_functions(source: str, tokens: tuple[Token, ...], names: list[str]) -> None:
    for name in names:
        if name not in _FUNCTIONS and not _OPERATOR.fullmatch(name):
            place = next((f" at {token.where(source)}" for token in tokens if token.text == name), "")
            raise ValueError(f"CEL{place}: unknown function {name}")


def _syntax(message: str) -> str:
    matched = _POSITION.search(message)
    if matched is None:
        return "CEL: syntax error"
    return f"CEL at {matched[1]}:{matched[2]}: {matched[3].split(' expecting ')[0]}"


def _first_sentence(fault: Exception) -> str:
    return str(fault).split(". ", 1)[0].split("\n", 1)[0][:200]
