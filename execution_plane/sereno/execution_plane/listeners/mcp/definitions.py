"""What a server says of its tools, held against what was pinned (pure)."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import rfc8785

from sereno.subscriptions.models import ConnectorSpec
from sereno.subscriptions.tool_access import writes_by_name

# A server may write there what changes with every answer.
_UNPINNED = frozenset({"_meta"})


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool as its server defines it: name, description, schemas and annotations, as JSON."""

    tool: str
    json: Mapping[str, Any]

    @property
    def sha256(self) -> str:
        """SHA-256 of its canonical JSON (RFC 8785), hexadecimal."""
        kept = {name: value for name, value in self.json.items() if name not in _UNPINNED}
        return hashlib.sha256(rfc8785.dumps(kept)).hexdigest()

    @property
    def writes(self) -> str | None:
        """Why it is no tool that only reads; None when nothing speaks against it. That it says it reads permits nothing."""
        said = self.json.get("annotations")
        hints = said if isinstance(said, Mapping) else {}
        word = writes_by_name(self.tool)
        if word is not None:
            return f"its name says that it changes something ({word}), whatever its server says of it"
        if hints.get("readOnlyHint") is False or hints.get("destructiveHint") is True:
            return "its server says that it changes something"
        return None


@dataclass(frozen=True, slots=True)
class Change:
    """A tool that is not what was pinned; `met` is None where the server has it no more."""

    tool: str
    pinned: str
    met: str | None

    def __str__(self) -> str:
        if self.met is None:
            return f"the server has no tool {self.tool} any more"
        return (
            f"the definition of the tool {self.tool} changed: {self.met[:12]} instead of {self.pinned[:12]}"
        )


@dataclass(frozen=True, slots=True)
class Checked:
    """The definitions of the allowed tools: those to pin for the first time, and those that changed."""

    fresh: Sequence[Definition]
    changes: Sequence[Change]


def check(spec: ConnectorSpec, pinned: Mapping[str, str], met: Mapping[str, Definition]) -> Checked:
    """What is declared counts before what was pinned at a first meeting."""
    fresh, changes = [], []
    for entry in spec.allow:
        expected, definition = entry.sha256 or pinned.get(entry.tool), met.get(entry.tool)
        if expected is None:
            if definition is not None:
                fresh.append(definition)
        elif definition is None or definition.sha256 != expected:
            changes.append(Change(entry.tool, expected, None if definition is None else definition.sha256))
        elif entry.tool not in pinned:
            fresh.append(definition)
    return Checked(fresh, changes)
