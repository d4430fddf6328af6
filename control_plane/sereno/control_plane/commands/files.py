"""The files of `-f`: one, all of a folder, or standard input; and in which of them a fault lies."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sereno.mailbox.cli.client import ProblemError
from sereno.mailbox.cli.exits import CommandError
from sereno.subscriptions.inlining import inline_calendars

DEFAULT_FILE = Path("sereno.yaml")
# More than that no plane takes in one request.
LARGEST_BYTES = 8_000_000
_SUFFIXES = {".yaml", ".yml"}
_SEPARATOR = "---\n"


@dataclass(frozen=True, slots=True)
class Part:
    """One file: its name for people, and the line of the whole text before its first."""

    name: str
    before: int


@dataclass(frozen=True, slots=True)
class Files:
    """The text of all files as one YAML stream."""

    text: str
    parts: tuple[Part, ...]

    def explained(self, refusal: ProblemError) -> CommandError:
        """The same refusal, each fault with the file and the line in it."""
        faults = refusal.problem.get("faults") or []
        if not faults:
            return refusal
        return CommandError("\n".join(self._sentence(fault) for fault in faults), refusal.exit_code)

    def _sentence(self, fault: Mapping[str, Any]) -> str:
        what = f"{fault['path']}: {fault['message']}" if fault["path"] else str(fault["message"])
        line = fault.get("line")
        if line is None:
            return what
        part = next(part for part in reversed(self.parts) if part.before < line)
        return f"{part.name}:{line - part.before}: {what}"


def read(path: Path | None) -> Files:
    """What `-f` names. Raises `CommandError` when it cannot be read."""
    if path == Path("-"):
        text = _decoded("<stdin>", sys.stdin.buffer.read(LARGEST_BYTES + 1))
        return _join([("<stdin>", _with_calendars(text, Path()))])
    path = path or DEFAULT_FILE
    try:
        found = _found(path)
    except OSError as fault:
        raise CommandError(f"{path} cannot be read: {fault.strerror}") from fault
    if not found:
        raise CommandError(f"{path}: expected files that end in .yaml or .yml; found none")
    return _join([(str(file), _with_calendars(_text(file), file.parent)) for file in found])


def content(path: Path, most: int) -> bytes:
    """The bytes of a file, or of standard input for `-`. Raises `CommandError` when they cannot be read or are more."""
    try:
        if path == Path("-"):
            found = sys.stdin.buffer.read(most + 1)
        else:
            with path.open("rb") as stream:
                found = stream.read(most + 1)
    except OSError as fault:
        raise CommandError(f"{path} cannot be read: {fault.strerror}") from fault
    if len(found) > most:
        raise CommandError(f"{path}: expected at most {most:,} bytes")
    return found


def _found(path: Path) -> list[Path]:
    return sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES) if path.is_dir() else [path]


def _text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST_BYTES + 1)
    except OSError as fault:
        raise CommandError(f"{file} cannot be read: {fault.strerror}") from fault
    return _decoded(str(file), content)


def _with_calendars(text: str, folder: Path) -> str:
    """The declarations with the calendars that they name, relative to their own folder."""
    # A calendar is one series, and YAML escapes a line end at its length.
    return inline_calendars(text, lambda name: _text(folder / name).replace("\r\n", "\n"))


def _decoded(name: str, content: bytes) -> str:
    if len(content) > LARGEST_BYTES:
        raise CommandError(f"{name}: expected at most {LARGEST_BYTES:,} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError as fault:
        raise CommandError(f"{name}: expected UTF-8 text: {fault.reason} at byte {fault.start}") from fault


def _join(files: list[tuple[str, str]]) -> Files:
    text, parts = "", []
    for name, content in files:
        if text:
            text += ("" if text.endswith("\n") else "\n") + _SEPARATOR
        parts.append(Part(name, text.count("\n")))
        text += content
    return Files(text, tuple(parts))
