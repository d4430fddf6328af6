"""Redaction: personal data and secrets give way to placeholders before anything is sent to a remote model.

It errs on the side of hiding: what looks like a telephone number is hidden, and comes back in the evidence.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from sereno.mailbox.engine.sensitive import NUMBERS, PATTERNS, Kind, Pattern

# The numbers: each has at least seven digits with at most two separators between, so only what is around such a
# cluster is looked at; the margin holds what may stand before and after, and the characters beside it.
_CLUSTER = re.compile(r"\d(?:[ ./()-]{0,2}\d){6,}")
_MARGIN = 8


@dataclass(slots=True)
class Redaction:
    """The placeholders of one call: equal values have equal ones, and each can be put back."""

    values: dict[str, str] = field(default_factory=dict)
    _placeholders: dict[str, str] = field(default_factory=dict)
    _counts: dict[Kind, int] = field(default_factory=dict)

    def hide(self, text: str) -> str:
        """The text with placeholders, `[KIND_N]`, where personal data and secrets stood."""
        return self.hide_all([text])[0]

    def hide_all(self, texts: Sequence[str]) -> list[str]:
        """Each text with placeholders; what stands in none of them is looked for once."""
        folded = [text.casefold() for text in texts]
        together = "\n".join(folded)
        possible = [one for one in PATTERNS if _hinted(one, together)]
        return [self._hide(text, own, possible) for text, own in zip(texts, folded, strict=True)]

    def _hide(self, text: str, folded: str, possible: Sequence[Pattern]) -> str:
        for pattern in possible:
            if _hinted(pattern, folded):
                text = pattern.expression.sub(partial(self._hidden, pattern, text), text)
        return "".join(self._numbers(text))

    def _numbers(self, text: str) -> Iterator[str]:
        done = 0
        for start, end in _around_clusters(text):
            part = text[start:end]
            digits = sum(map(str.isdigit, part))
            for pattern in NUMBERS:
                if digits >= pattern.digits and _hinted(pattern, part):
                    part = pattern.expression.sub(partial(self._hidden, pattern, text), part)
            yield text[done:start]
            yield part
            done = end
        yield text[done:]

    def restore(self, text: str) -> str:
        """The text as it was written, placeholders put back."""
        return re.sub(r"\[[A-Z]+_\d+\]", lambda found: self.values.get(found.group(), found.group()), text)

    @property
    def counts(self) -> Mapping[Kind, int]:
        """How many different values of each kind were hidden."""
        return dict(self._counts)

    def _hidden(self, pattern: Pattern, text: str, found: re.Match[str]) -> str:
        group = "value" if "value" in pattern.expression.groupindex else 0
        value = found.group(group)
        bare = value.strip("\\\"'")
        if not pattern.accepts(value) or (bare.startswith("[") and bare in self.values):
            return found.group()
        return found.group().replace(bare, self._placeholder(pattern.kind, bare, text))

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


def _hinted(pattern: Pattern, folded: str) -> bool:
    if not pattern.hints:
        return True
    for hint in pattern.hints:  # noqa: SIM110 - asked for every text and pattern
        if hint in folded:
            return True
    return False


def _around_clusters(text: str) -> Iterator[tuple[int, int]]:
    """Where numbers may stand, with a margin; what touches is one."""
    start, end = 0, 0
    for found in _CLUSTER.finditer(text):
        first, last = max(0, found.start() - _MARGIN), found.end() + _MARGIN
        if end and first <= end:
            end = last
            continue
        if end:
            yield start, end
        start, end = first, last
    if end:
        yield start, end
