"""An item of a semantic condition: what was observed, ready to be judged."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Literal, Self

from sereno.execution_plane.evaluator import shown

Sensitivity = Literal["public", "internal", "confidential"]
_SHOWN = ("type", "source", "subject", "actor", "time", "data")


@dataclass(frozen=True, slots=True)
class Item:
    """One novelty: its id within the call, its data as a model is shown it, and how sensitive it is."""

    id: str
    data: Any
    sensitivity: Sensitivity
    line: str
    """The data as one line of JSON."""
    digest: str
    """SHA-256 of the line, hexadecimal: equal items are judged once."""

    @classmethod
    def of(cls, item_id: str, data: Any, sensitivity: Sensitivity = "internal") -> Self:
        """The item of observed data, without what people do not see."""
        seen = shown.cleaned(data)
        line = shown.as_line(seen)
        return cls(item_id, seen, sensitivity, line, sha256(line.encode("utf-8", "replace")).hexdigest())

    def called(self, name: str) -> Self:
        """The same under another id."""
        return self if name == self.id else replace(self, id=name)


def item_of(name: str, envelope: Mapping[str, Any]) -> Item:
    """An event (flat JSON) as an item: what happened, without what the platform wrote beside it."""
    seen = {member: envelope[member] for member in _SHOWN if envelope.get(member) is not None}
    sensitivity: Sensitivity = envelope.get("sensitivity") or "internal"
    if _stays(envelope.get("outside")):
        # What a connector's declaration keeps on the machine goes where confidential data may go.
        sensitivity = "confidential"
    return Item.of(name, seen, sensitivity)


def _stays(outside: Any) -> bool:
    """Whether the note beside an event, JSON in its flat form, says that it does not leave the machine."""
    try:
        notes = json.loads(outside) if isinstance(outside, str) else outside
    except ValueError:
        return False
    return isinstance(notes, Mapping) and notes.get("egress") == "local"


def names_of(events: Sequence[tuple[str, str]]) -> list[str]:
    """What each event (id, receipt) is called among these: its id; its receipt where another has the same id."""
    often = Counter(event for event, _ in events)
    return [event if often[event] == 1 else receipt for event, receipt in events]


def input_hash(criterion_version: str, item: Item) -> str:
    """What was judged, as one SHA-256: equal for a test and for the real run on the same input."""
    return sha256(f"{criterion_version}\0{item.sensitivity}\0{item.digest}".encode()).hexdigest()
