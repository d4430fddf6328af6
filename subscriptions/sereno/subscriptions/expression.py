"""CEL expressions as filters: compiled once, bounded before they run.

The native evaluator has no cost limit and cannot be interrupted, so what could run long is refused at compile time
(length, nodes, nested comprehensions, patterns that are no literal) and before the call (macros over long lists).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cel

MAX_CHARACTERS = 1_000
MAX_NODES = 100
MAX_ITEMS = 1_000
MAX_PATTERN = 200

MACROS = frozenset({"all", "exists", "exists_one", "existsOne", "map", "filter"})
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
_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<string>(?:[rR][bB]?|[bB][rR]?)?(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"
        |'(?:\\.|[^\\'\n])*'|"(?:\\.|[^\\"\n])*"))
    |(?P<number>0[xX][0-9a-fA-F]+[uU]?|(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?[uU]?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<operator>&&|\|\||[<>=!]=|[-+*/%<>!?])
    |(?P<bracket>[()\[\]{}])
    |(?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
_POSITION = re.compile(r"<input>:([0-9]+):([0-9]+): (?:Syntax error: )?(.*)")
_UNDEFINED = re.compile(r"Undefined variable or function: '([a-z][a-z0-9]{0,19})'")


class FilterFault(Exception):  # noqa: N818 - the house calls what is wrong a fault
    """A filter could not be evaluated on this event; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Macro:
    """A comprehension in an expression, and the path of what it walks over when that is plain."""

    name: str
    path: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression and the comprehensions in it."""

    source: str
    program: Any
    macros: tuple[Macro, ...]

    def holds(self, attributes: Mapping[str, Any], context: Any) -> bool:
        """Whether it is true for the event; a field or attribute that the event lacks makes it not hold.

        `context` is the event converted once for all expressions (`context_of`). FilterFault when the expression
        cannot be evaluated or is not true or false.
        """
        for macro in self.macros:
            _check_length(self.source, macro, attributes)
        try:
            answer = self.program.execute(context)
        except KeyError:
            return False
        except (TypeError, ValueError, RuntimeError, ArithmeticError, IndexError) as fault:
            if _UNDEFINED.match(str(fault)):
                return False
            raise FilterFault(f"cel {self.source!r}: {_first_sentence(fault)}") from None
        if not isinstance(answer, bool):
            raise FilterFault(f"cel {self.source!r}: expected true or false; found {type(answer).__name__}")
        return answer


def context_of(attributes: Mapping[str, Any]) -> Any:
    """The event as CEL variables, converted once for all subscriptions; an absent `data` is an empty map."""
    return cel.Context(
        variables={"data": {}, **{name: value for name, value in attributes.items() if value is not None}}
    )


def compile_expression(source: str) -> Expression:
    """The expression in `source`; ValueError names line and column of what is not accepted."""
    if not source.strip():
        raise ValueError("expected a CEL expression such as data.priority == 'high'")
    if len(source) > MAX_CHARACTERS:
        raise ValueError(f"expected at most {MAX_CHARACTERS:,} characters of CEL; found {len(source):,}")
    tokens = _tokens(source)
    nodes = sum(1 for token in tokens if token.counts)
    if nodes > MAX_NODES:
        raise ValueError(f"expected at most {MAX_NODES} names, values and operators in CEL; found {nodes}")
    macros = _comprehensions(source, tokens)
    try:
        program = cel.compile(source)
    except ValueError as fault:
        raise ValueError(_syntax(str(fault))) from None
    for name in program.functions():
        if name not in _FUNCTIONS and not _OPERATOR.fullmatch(name):
            raise ValueError(f"CEL{_where(source, tokens, name)}: unknown function {name}")
    return Expression(source, program, macros)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int

    @property
    def counts(self) -> bool:
        return self.kind in ("string", "number", "name", "operator") or self.text in ("[", "{")


def _tokens(source: str) -> list[_Token]:
    return [
        _Token(matched.lastgroup or "mark", matched[0], matched.start())
        for matched in _TOKEN.finditer(source)
        if matched.lastgroup != "space"
    ]


def _comprehensions(source: str, tokens: list[_Token]) -> tuple[Macro, ...]:
    """The macros, none inside another; and no pattern that is not a short literal, nor one inside a macro."""
    found: list[Macro] = []
    inside: list[bool] = []
    for index, token in enumerate(tokens):
        if token.text in ("(", "[", "{") and token.kind == "bracket":
            called = (
                tokens[index - 1]
                if token.text == "(" and index and tokens[index - 1].kind == "name"
                else None
            )
            method = index > 1 and tokens[index - 2].text == "."
            if called is not None and called.text == "matches":
                _check_pattern(source, tokens, index, nested=any(inside))
            macro = called is not None and method and called.text in MACROS
            if macro and called is not None:
                if any(inside):
                    raise ValueError(
                        f"CEL{_at(source, called.start)}: {called.text} inside another comprehension"
                    )
                found.append(Macro(called.text, _receiver(tokens, index - 2)))
            inside.append(macro)
        elif token.text in (")", "]", "}") and token.kind == "bracket" and inside:
            inside.pop()
    return tuple(found)


def _check_pattern(source: str, tokens: list[_Token], index: int, *, nested: bool) -> None:
    where = _at(source, tokens[index - 1].start)
    if nested:
        raise ValueError(
            f"CEL{where}: matches inside a comprehension is not accepted; use contains or startsWith"
        )
    # value.matches(pattern) carries the pattern first, matches(value, pattern) last
    method = index > 1 and tokens[index - 2].text == "."
    pattern = tokens[index + 1 : index + 3]
    literal = [token.kind if token.kind == "string" else token.text for token in pattern] == ["string", ")"]
    if not method or not literal or len(pattern[0].text) > MAX_PATTERN:
        raise ValueError(
            f"CEL{where}: expected value.matches('PATTERN') with at most {MAX_PATTERN} characters"
        )


def _receiver(tokens: list[_Token], dot: int) -> tuple[str, ...] | None:
    """The plain path that ends before the dot at index `dot`, such as data.items; None for anything else."""
    path: list[str] = []
    while dot > 0 and tokens[dot].text == "." and tokens[dot - 1].kind == "name":
        path.insert(0, tokens[dot - 1].text)
        dot -= 2
    if dot >= 0 and tokens[dot].text == ".":
        return None
    return tuple(path) or None


def _check_length(source: str, macro: Macro, attributes: Mapping[str, Any]) -> None:
    longest = _longest(attributes) if macro.path is None else _length_at(attributes, macro.path)
    if longest > MAX_ITEMS:
        raise FilterFault(
            f"cel {source!r}: {macro.name} over {longest:,} items; at most {MAX_ITEMS:,} are accepted"
        )


def _length_at(attributes: Mapping[str, Any], path: tuple[str, ...]) -> int:
    value: Any = attributes
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return len(value) if isinstance(value, list | tuple | dict) else 0


def _longest(value: Any) -> int:
    longest = 0
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, Mapping):
            longest = max(longest, len(current))
            pending.extend(current.values())
        elif isinstance(current, list | tuple):
            longest = max(longest, len(current))
            pending.extend(current)
    return longest


def _at(source: str, offset: int) -> str:
    line = source.count("\n", 0, offset) + 1
    return f" at {line}:{offset - (source.rfind(chr(10), 0, offset) + 1) + 1}"


def _where(source: str, tokens: list[_Token], name: str) -> str:
    return next((_at(source, token.start) for token in tokens if token.text == name), "")


def _syntax(message: str) -> str:
    matched = _POSITION.search(message)
    if matched is None:
        return "CEL: syntax error"
    problem = matched[3].split(" expecting ")[0]
    return f"CEL at {matched[1]}:{matched[2]}: {problem}"


def _first_sentence(fault: Exception) -> str:
    return str(fault).split(". ", 1)[0].split("\n", 1)[0][:200]
