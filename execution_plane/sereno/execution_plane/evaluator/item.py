"""An item of a semantic condition: what was observed, ready to be judged."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, Self

from sereno.execution_plane.evaluator import shown

Sensitivity = Literal["public", "internal", "confidential"]


@dataclass(frozen=True, slots=True)
class Item:
    """One novelty: its id within the call, its data as a model is shown it, and how sensitive it is."""

    id: str
    data: Any
    sensitivity: Sensitivity = "internal"

    @classmethod
    def of(cls, item_id: str, data: Any, sensitivity: Sensitivity = "internal") -> Self:
        """The item of observed data, without what people do not see."""
        return cls(item_id, shown.cleaned(data), sensitivity)

    @property
    def line(self) -> str:
        """The data as one line of JSON."""
        return shown.as_line(self.data)

    @property
    def digest(self) -> str:
        """SHA-256 of the line, hexadecimal: equal items are judged once."""
        return sha256(self.line.encode("utf-8", "replace")).hexdigest()
