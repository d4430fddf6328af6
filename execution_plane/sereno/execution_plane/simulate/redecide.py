"""Held events that enter again: at guard 3, under the subscription as it stands now."""

from collections.abc import Iterator
from datetime import datetime

from sereno.execution_plane.guards.keyed import activation_of
from sereno.execution_plane.guards.ledger import Moment
from sereno.execution_plane.guards.suspension import guard_of
from sereno.execution_plane.simulate import said
from sereno.execution_plane.simulate.agenda import Key
from sereno.execution_plane.simulate.backlog import Held
from sereno.execution_plane.simulate.said import Output
from sereno.execution_plane.simulate.world import World


def re_enter(world: World, key: Key, held: Held, drop: str | None, at: datetime) -> Iterator[Output]:
    """Decide a held event again, or drop it for a reason that was given."""
    arrival = held.arrival
    if drop is not None:
        world.ledger.forget(arrival.envelope, key[1])
        guard = "delivery" if drop == "misfire" else guard_of(held.cause)
        yield said.decision(at, arrival.envelope.id, key[1], outcome="dropped", guard=guard, reason=drop)
        return
    subscription = world.subscriptions[key].compiled
    activation = activation_of(arrival.envelope, arrival.attributes, subscription, "held")
    passage = world.ledger.decide(activation, subscription, Moment(at), ancestors=held.ancestors)
    yield from world.decided(passage, arrival, at)
