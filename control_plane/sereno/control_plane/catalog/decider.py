"""The catalog's deciders behind one pair of functions, chosen by the kind of the object."""

from collections.abc import Iterable

from sereno.control_plane.catalog import declared, subscription, token
from sereno.control_plane.catalog.event import NewEvent, RecordedEvent
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.refusal import Refusal

Command = (
    declared.Declare
    | declared.Withdraw
    | declared.Switch
    | subscription.Declare
    | subscription.Move
    | token.Issue
    | token.Revoke
)


def decide(item: Item | None, command: Command) -> tuple[NewEvent, ...] | Refusal:
    """The events that a command on one object leads to, or why it may not."""
    if isinstance(command, declared.Declare | declared.Withdraw | declared.Switch):
        return declared.decide(item, command)
    if isinstance(command, token.Issue | token.Revoke):
        return token.decide(item, command)
    return subscription.decide(item, command)


def evolve(item: Item | None, address: Address, event: RecordedEvent) -> Item:
    """The object after one more event."""
    match address.kind:
        case "Subscription":
            return subscription.evolve(item, address, event)
        case "Token":
            return token.evolve(item, address, event)
        case _:
            return declared.evolve(item, address, event)


def fold(address: Address, events: Iterable[RecordedEvent], item: Item | None = None) -> Item | None:
    """The object that its events made; none without events."""
    for event in events:
        item = evolve(item, address, event)
    return item
