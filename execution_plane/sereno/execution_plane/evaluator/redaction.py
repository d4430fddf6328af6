"""Redaction: personal data and secrets give way to placeholders before anything is sent to a remote model.

It errs on the side of hiding: what looks like a telephone number is hidden, and comes back in the evidence.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from sereno.mailbox.engine.sensitive import PATTERNS, Kind, Pattern


@dataclass(slots=True)
class Redaction:
    """The placeholders of one call: equal values have equal ones, and each can be put back."""

    values: dict[str, str] = field(default_factory=dict)
    _placeholders: dict[str, str] = field(default_factory=dict)
    _counts: dict[Kind, int] = field(default_factory=dict)

    def hide(self, text: str) -> str:
        """The text with placeholders, `[KIND_N]`, where personal data and secrets stood."""
        for pattern in PATTERNS:
            text = pattern.expression.sub(partial(self._hidden, pattern), text)
        return text

    def restore(self, text: str) -> str:
        """The text as it was written, placeholders put back."""
        return re.sub(r"\[[A-Z]+_\d+\]", lambda found: self.values.get(found.group(), found.group()), text)

    @property
    def counts(self) -> Mapping[Kind, int]:
        """How many different values of each kind were hidden."""
        return dict(self._counts)

    def _hidden(self, pattern: Pattern, found: re.Match[str]) -> str:
        group = "value" if "value" in pattern.expression.groupindex else 0
        value = found.group(group)
        bare = value.strip("\\\"'")
        if not pattern.accepts(value) or (bare.startswith("[") and bare in self.values):
            return found.group()
        return found.group().replace(bare, self._placeholder(pattern.kind, bare, found.string))

    def _placeholder(self, kind: Kind, value: str, text: str) -> str:
        if value not in self._placeholders:
            number = self._counts.get(kind, 0) + 1
            # What an outsider wrote to look like a placeholder must not be taken for one.
            while (name := f"[{kind}_{number}]") in text and name not in self.values:
                number += 1
            self._counts[kind] = number
            self._placeholders[value] = name
            self.values[name] = value
        return self._placeholders[value]
