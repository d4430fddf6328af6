"""Which objects a pruning may delete: those that carry a label."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class Selector:
    """A label by its key, or by key and value."""

    key: str
    value: str | None

    @classmethod
    def parse(cls, text: str) -> "Selector":
        """From `team` or `team=support`; ValueError otherwise."""
        key, separator, value = text.partition("=")
        if not _LABEL.fullmatch(key) or (separator and not _LABEL.fullmatch(value)):
            raise ValueError("expected a label such as team=support, or its key alone")
        return cls(key, value if separator else None)

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether these labels are meant."""
        return self.key in labels and self.value in (None, labels[self.key])
