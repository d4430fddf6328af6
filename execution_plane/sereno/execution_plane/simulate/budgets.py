"""Budgets in a simulation: usage that workers report, and edits that extend a budget."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sereno.execution_plane.guards.account import ACTIVATIONS, Limit
from sereno.execution_plane.guards.budget import exceeded
from sereno.execution_plane.guards.ledger import Ledger
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.guards.usage import cost_of
from sereno.execution_plane.simulate import said
from sereno.execution_plane.simulate.declared import Refused
from sereno.execution_plane.simulate.mailbox import Parcel
from sereno.execution_plane.simulate.said import Output
from sereno.execution_plane.simulate.world import World


def report(world: World, message: Parcel, usage: Mapping[str, Any] | None, at: datetime) -> Iterator[Output]:
    """Reconcile what a run cost; usage in a currency of no budget is told to the owner, and the reservation stands."""
    reservation = world.ledger.reservations.get(message.id)
    currencies = [] if reservation is None else [line.account.measure for line in reservation.lines]
    own = next((measure for measure in currencies if measure != ACTIVATIONS), None)
    try:
        cost = cost_of(usage, own)
    except ValueError as fault:
        raise Refused(f"usage: {fault}") from None
    settlement = world.ledger.report(message.id, cost)
    if settlement is not None and settlement.foreign:
        yield said.state(at, message.subscription, "active", "currency")


def extended(ledger: Ledger, before: Subscription, after: Subscription, at: datetime) -> list[UUID]:
    """The budget suspensions that an edit lifts: it changed the budget, and one more activation fits again."""
    if _limits(before) == _limits(after):
        return []
    if after.budgets is not None and exceeded(after.budgets, ledger.budgets, at) is not None:
        return []
    open_ones = ledger.suspensions.get((after.tenant, after.name), ())
    return [one.id for one in open_ones if one.cause == "budget"]


def _limits(subscription: Subscription) -> tuple[Limit, ...]:
    return () if subscription.budgets is None else subscription.budgets.limits
