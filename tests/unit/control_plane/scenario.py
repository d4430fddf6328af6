"""given(events).when(command).then(events): the catalog's deciders in the words of the domain."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sereno.control_plane.catalog.decider import Command, decide, fold
from sereno.control_plane.catalog.event import NewEvent, record
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.refusal import Refusal

T0 = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
ID = UUID("0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee")
ANOTHER_ID = UUID("0199aaaa-bbbb-7ccc-8ddd-ffffffffffff")
SHA = "ab" * 32


def happened(address: Address, *events: NewEvent, actor: str = "user:marta") -> Item | None:
    """The object after these events, one second apart."""
    item = None
    for index, event in enumerate(events):
        stored = record(
            [event],
            tenant=address.tenant,
            stream=address.stream,
            revision=index,
            actor=actor,
            reason=None,
            recorded=T0 + timedelta(seconds=index),
        )
        item = fold(address, stored, item)
    return item


@dataclass(frozen=True)
class Scenario:
    """What had happened to one object, and what a command then leads to."""

    address: Address
    past: Sequence[NewEvent]
    answer: Sequence[NewEvent] | Refusal = field(default_factory=list)

    def when(self, command: Command) -> "Scenario":
        return Scenario(self.address, self.past, decide(happened(self.address, *self.past), command))

    def then(self, *expected: NewEvent) -> Item:
        """Exactly these events; the object after them."""
        assert self.answer == expected, self.answer
        item = happened(self.address, *self.past, *expected)
        assert item is not None
        return item

    def then_nothing(self) -> None:
        assert self.answer == ()

    def then_refused(self, code: str, current_version: int | None = None) -> Refusal:
        assert isinstance(self.answer, Refusal), self.answer
        assert (self.answer.code, self.answer.current_version) == (code, current_version)
        return self.answer


def given(address: Address, *past: NewEvent) -> Scenario:
    return Scenario(address, past)


def event(name: str, **data: Any) -> NewEvent:
    return NewEvent(name, data)
