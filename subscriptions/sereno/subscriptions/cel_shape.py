"""What an expression walks over: its paths into the event and its comprehensions, read from its words.

Refuses what could not be bounded for any event: a comprehension inside another or over anything but a path, a literal
or another comprehension; a pattern that is no short literal, or is matched once per item.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from sereno.subscriptions.cel_pattern import check_copies, check_syntax, read_pattern
from sereno.subscriptions.cel_token import Token

MACROS = frozenset({"all", "exists", "exists_one", "existsOne", "map", "filter"})
_WORDS = frozenset({"true", "false", "null", "in"})
_CLOSING = {")": "(", "]": "[", "}": "{"}

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """A list or map written in the expression."""


@dataclass(frozen=True, slots=True)
class Comprehension:
    """A macro: over what it goes, which paths its body reads for each item, how often the body names the item."""

    macro: str
    over: "Path | Literal | Comprehension"
    paths: tuple[Path, ...]
    uses: int


@dataclass(frozen=True, slots=True)
class Shape:
    """The paths read once, the comprehensions in the order of their ends, and the number of `+`."""

    paths: tuple[Path, ...]
    comprehensions: tuple[Comprehension, ...]
    additions: int

    @property
    def reads_event(self) -> bool:
        """Whether its value can differ from event to event."""
        return bool(self.paths) or any(one.paths for one in self.comprehensions)


@dataclass(slots=True)
class _Frame:
    """An open bracket; a macro's gathers what its body reads."""

    bracket: str
    macro: str | None = None
    over: Path | Literal | Comprehension = ()
    variable: str | None = None
    literal: bool = False
    paths: list[Path] = field(default_factory=list)
    uses: int = 0


def shape_of(source: str, tokens: Sequence[Token]) -> Shape:
    """The shape of an expression that compiles; ValueError names the place of what is not accepted."""
    return _Scan(source, tokens).shape()


class _Scan:
    def __init__(self, source: str, tokens: Sequence[Token]) -> None:
        self._source = source
        self._tokens = tokens
        self._frames = [_Frame("")]
        self._done: list[Comprehension] = []
        self._patterns: list[str] = []
        # What the word at an index ends, when a comprehension may go over it.
        self._ends: dict[int, Path | Literal | Comprehension] = {}

    def shape(self) -> Shape:
        index = 0
        while index < len(self._tokens):
            token = self._tokens[index]
            if token.kind == "name" and self._begins_path(index):
                index = self._path(index)
            elif token.text in ("(", "[", "{") and token.kind == "bracket":
                index = self._open(index)
            elif token.text in _CLOSING and token.kind == "bracket":
                self._close(index)
            index += 1
        additions = sum(token.kind == "operator" and token.text == "+" for token in self._tokens)
        return Shape(tuple(self._frames[0].paths), tuple(self._done), additions)

    def _text(self, index: int) -> str:
        token = self._tokens[index] if 0 <= index < len(self._tokens) else None
        return token.text if token is not None and token.kind != "string" else ""

    def _kind(self, index: int) -> str:
        return self._tokens[index].kind if 0 <= index < len(self._tokens) else ""

    def _begins_path(self, index: int) -> bool:
        name = self._tokens[index].text
        return name not in _WORDS and self._text(index - 1) != "." and self._text(index + 1) != "("

    def _path(self, index: int) -> int:
        """Reads the path that begins at `index`; answers the index of its last word."""
        path: list[str | int] = [self._tokens[index].text]
        while True:
            if (
                self._text(index + 1) == "."
                and self._kind(index + 2) == "name"
                and self._text(index + 3) != "("
            ):
                path.append(self._tokens[index + 2].text)
                index += 2
            elif (
                self._text(index + 1) == "["
                and self._kind(index + 2) in ("string", "number")
                and self._text(index + 3) == "]"
            ):
                path.append(_key(self._tokens[index + 2].text))
                index += 3
            else:
                break
        frame = self._body()
        if frame is not None and path[0] == frame.variable:
            frame.uses += 1
        else:
            (frame or self._frames[0]).paths.append(tuple(path))
            self._ends[index] = tuple(path)
        return index

    def _body(self) -> _Frame | None:
        return next((frame for frame in self._frames if frame.macro), None)

    def _open(self, index: int) -> int:
        """Opens a bracket; answers the index of the last word that belongs to its opening."""
        bracket = self._tokens[index].text
        called = self._text(index - 1) if bracket == "(" and self._kind(index - 1) == "name" else ""
        method = self._text(index - 2) == "."
        if called == "matches":
            self._check_pattern(index, method=method)
        if not (called in MACROS and method):
            before = self._text(index - 1)
            indexed = self._kind(index - 1) in ("name", "string") or before in (")", "]", "}")
            self._frames.append(_Frame(bracket, literal=bracket != "(" and not indexed))
            return index
        if self._body() is not None:
            raise self._refused(index - 1, f"{called} inside another comprehension")
        if index - 3 not in self._ends:
            raise self._refused(index - 1, f"expected a path such as data.items, or a list, before .{called}")
        self._frames.append(_Frame(bracket, called, self._ends[index - 3], self._text(index + 1)))
        return index + 1

    def _close(self, index: int) -> None:
        if len(self._frames) == 1 or self._frames[-1].bracket != _CLOSING[self._tokens[index].text]:
            return
        frame = self._frames.pop()
        if frame.macro:
            done = Comprehension(frame.macro, frame.over, tuple(frame.paths), frame.uses)
            self._done.append(done)
            self._ends[index] = done
        elif frame.literal:
            self._ends[index] = Literal()

    def _check_pattern(self, index: int, *, method: bool) -> None:
        if self._body() is not None:
            raise self._refused(
                index - 1, "matches inside a comprehension is not accepted; use contains or startsWith"
            )
        if not method or self._kind(index + 1) != "string" or self._text(index + 2) != ")":
            raise self._refused(index - 1, "expected value.matches('PATTERN') with the pattern written out")
        literal = self._tokens[index + 1].text
        try:
            self._patterns.append(read_pattern(literal))
            check_copies(self._patterns)
            check_syntax(literal)
        except ValueError as fault:
            raise self._refused(index + 1, str(fault)) from None

    def _refused(self, index: int, message: str) -> ValueError:
        return ValueError(f"CEL at {self._tokens[index].where(self._source)}: {message}")


def _key(text: str) -> str | int:
    """The key that an index such as ['a-b'] or [0] names; one that is no plain literal names nothing."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, str | int) else text
