"""Reads declared YAML: plain data with the line of every field, and every fault of every document.

Read with YAML 1.2's core schema, so `on`, `no`, `22:00` and dates stay the text that was written. Tags, duplicate
keys and keys that are no text are refused; anchors are followed within a budget, so no few lines can grow without
bound. `---` at the start of a line always separates documents (YAML forbids it inside any scalar), so a syntax
error in one document hides nothing of the next.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import yaml

from sereno.subscriptions.faults import Fault

MAX_CHARACTERS = 2_000_000
MAX_DEPTH = 32
MAX_NODES = 200_000
MAX_DOCUMENTS = 10_000
# Beyond it JSON numbers are not exact (RFC 8785).
LARGEST = 2**53 - 1

Path = tuple[str | int, ...]
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SEPARATOR = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_EMPTY = re.compile(r"(?:[ \t]*(?:#.*)?|%.*|---[ \t]*(?:#.*)?|\.\.\.[ \t]*(?:#.*)?)")
_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_INTEGER = re.compile(r"[-+]?[0-9]{1,400}", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?", re.ASCII)
_CONSTANTS = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_STANDARD_TAGS = {"!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}


@dataclass(frozen=True, slots=True)
class Tree:
    """One document as plain data, with the line of each path and what was wrong in reading it."""

    value: Any = None
    lines: Mapping[Path, int] = field(default_factory=dict)
    faults: tuple[tuple[Path, str, int], ...] = ()
    broken: bool = False

    def line(self, path: Path) -> int | None:
        """The line of the field at `path`, or of the nearest thing around it that is written."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return None


class _Refused(Exception):  # noqa: N818 - it unwinds the composer; callers see faults
    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def read(text: str | bytes) -> tuple[list[Tree], list[Fault]]:
    """Every document in `text`, and the faults that concern none of them (encoding, size)."""
    if isinstance(text, bytes):
        try:
            return read(text.decode())
        except UnicodeDecodeError as fault:
            line = text.count(b"\n", 0, fault.start) + 1
            return [], [Fault("", f"expected UTF-8 text; byte {fault.start} is not", line)]
    text = text.removeprefix("\ufeff")
    if len(text) > MAX_CHARACTERS:
        return [], [Fault("", f"expected at most {MAX_CHARACTERS:,} characters; found {len(text):,}")]
    if unreadable := _UNREADABLE.search(text):
        line = text.count("\n", 0, unreadable.start()) + 1
        return [], [Fault("", f"expected text; found the control character U+{ord(unreadable[0]):04X}", line)]
    chunks = _split(text)
    if len(chunks) > MAX_DOCUMENTS:
        line = chunks[MAX_DOCUMENTS][1]
        return [], [Fault("", f"expected at most {MAX_DOCUMENTS:,} documents; found {len(chunks):,}", line)]
    budget = _Budget()
    return [tree for chunk, line in chunks for tree in _Composer(chunk, line, budget).trees()], []


def _split(text: str) -> list[tuple[str, int]]:
    starts = [0, *(matched.start() for matched in _SEPARATOR.finditer(text) if matched.start()), len(text)]
    chunks = []
    line = 1
    for start, end in pairwise(starts):
        chunk = text[start:end]
        if not all(_EMPTY.fullmatch(row) for row in chunk.splitlines()):
            chunks.append((chunk, line))
        line += chunk.count("\n")
    return chunks


@dataclass(slots=True)
class _Open:
    """A mapping or sequence that is being read."""

    value: dict[str, Any] | list[Any]
    path: Path
    anchor: str | None
    key: str | None = None
    expects_key: bool = True
    lines_of_keys: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Budget:
    """The values read so far in a whole text, aliases followed."""

    nodes: int = 0

    def take(self, nodes: int, line: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise _Refused(f"expected at most {MAX_NODES:,} values in all, aliases followed", line)


class _Composer:
    """Builds plain data from YAML events, without recursion."""

    def __init__(self, chunk: str, first_line: int, budget: _Budget) -> None:
        self._chunk = chunk
        self._first_line = first_line
        self._budget = budget

    def trees(self) -> list[Tree]:
        """The documents of the chunk: one, or more where `...` ends the one before."""
        done: list[Tree] = []
        try:
            for event in yaml.parse(self._chunk, Loader=_LOADER):
                if isinstance(event, yaml.DocumentStartEvent):
                    self._begin()
                elif isinstance(event, yaml.DocumentEndEvent):
                    done.append(Tree(self._root, self._lines, tuple(self._faults)))
                elif isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
                    self._take(event)
        except yaml.MarkedYAMLError as fault:
            mark = fault.problem_mark or fault.context_mark
            done.append(self._broken(_sentence(fault), self._line(mark)))
        except _Refused as refusal:
            done.append(self._broken(str(refusal), refusal.line))
        return done

    def _broken(self, message: str, line: int) -> Tree:
        return Tree(None, {(): line}, (((), message, line),), broken=True)

    def _begin(self) -> None:
        self._root: Any = None
        self._lines: dict[Path, int] = {}
        self._faults: list[tuple[Path, str, int]] = []
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}

    def _line(self, mark: Any) -> int:
        return self._first_line + (mark.line if mark is not None else 0)

    def _take(self, event: Any) -> None:
        line = self._line(event.start_mark)
        if isinstance(event, yaml.CollectionEndEvent):
            self._close()
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event.anchor, line)
        elif isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
        else:
            self._budget.take(1, line)
            self._open({} if isinstance(event, yaml.MappingStartEvent) else [], event, line)

    def _refuse_tag(self, event: Any, path: Path, line: int) -> None:
        if event.tag is not None and event.tag not in _STANDARD_TAGS:
            self._faults.append((path, "YAML tags are not accepted; write the plain value", line))

    def _scalar(self, event: Any, line: int) -> None:
        self._budget.take(1, line)
        plain = not event.style and event.tag is None  # the two parsers say "" and None
        top = self._stack[-1] if self._stack else None
        if top is not None and isinstance(top.value, dict) and top.expects_key:
            self._key(top, event.value, line)
            self._refuse_value(event.value, (*top.path, event.value), line)
            return
        value = _plain_value(event.value) if plain else event.value
        path = self._place(value, line)
        self._refuse_tag(event, path, line)
        self._refuse_value(value, path, line)
        self._remember(event.anchor, value, 1)

    def _refuse_value(self, value: Any, path: Path, line: int) -> None:
        """What neither JSON nor the database can hold."""
        if isinstance(value, str) and _UNSTORABLE.search(value):
            self._faults.append((path, "expected text without NUL characters and lone surrogates", line))
        elif isinstance(value, int | float) and not -LARGEST <= value <= LARGEST:
            self._faults.append((path, f"expected a number between -{LARGEST} and {LARGEST}", line))

    def _key(self, top: _Open, key: str, line: int) -> None:
        if key == "<<":
            raise _Refused("merge keys (<<) are not accepted; write the fields out", line)
        if key in top.lines_of_keys:
            first = top.lines_of_keys[key]
            self._faults.append(((*top.path, key), f"given twice; first on line {first}", line))
        top.lines_of_keys.setdefault(key, line)
        self._lines.setdefault((*top.path, key), line)
        top.key, top.expects_key = key, False

    def _alias(self, anchor: str | None, line: int) -> None:
        if anchor is None or anchor not in self._anchors:
            raise _Refused(f"the alias *{(anchor or '')[:40]} names no finished value above it", line)
        value, size = self._anchors[anchor]
        self._budget.take(size, line)
        self._place(value, line)

    def _place(self, value: Any, line: int) -> Path:
        """Puts a finished or opened value where it belongs and answers its path."""
        if not self._stack:
            self._root = value
            self._lines[()] = line
            return ()
        top = self._stack[-1]
        if isinstance(top.value, list):
            path = (*top.path, len(top.value))
            top.value.append(value)
            self._lines[path] = line
            return path
        if top.expects_key or top.key is None:
            raise _Refused("expected a text as key of a mapping", line)
        path = (*top.path, top.key)
        top.value[top.key] = value
        top.expects_key = True
        return path

    def _open(self, value: dict[str, Any] | list[Any], event: Any, line: int) -> None:
        if len(self._stack) >= MAX_DEPTH:
            raise _Refused(f"expected at most {MAX_DEPTH} levels", line)
        path = self._place(value, line)
        self._refuse_tag(event, path, line)
        self._stack.append(_Open(value, path, event.anchor))

    def _close(self) -> None:
        closed = self._stack.pop()
        if closed.anchor:
            self._remember(closed.anchor, closed.value, _size(closed.value))

    def _remember(self, anchor: str | None, value: Any, size: int) -> None:
        if anchor:
            self._anchors[anchor] = (value, size)


def _size(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_size, value.values()))
    if isinstance(value, list):
        return 1 + sum(map(_size, value))
    return 1


def _plain_value(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def _sentence(fault: yaml.MarkedYAMLError) -> str:
    parts = [part for part in (fault.context, fault.problem) if part]
    return f"not readable as YAML: {', '.join(parts)}"
