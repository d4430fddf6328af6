"""What people do to a suspended subscription: lift what suspends it, and say what becomes of what was held."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from sereno.control_plane.catalog.item import Address
from sereno.control_plane.catalog.plan import Step
from sereno.control_plane.store import heads, suspensions
from sereno.control_plane.store.suspensions import Suspension
from sereno.subscriptions.snapshot import Lift

Held = Literal["deliver", "drop", "review"]


@dataclass(frozen=True, slots=True)
class Lifted:
    """The suspensions that a person ended, and the manifest version that says so."""

    suspensions: tuple[Suspension, ...]
    manifest: int


async def lift(
    engine: AsyncEngine, address: Address, held: Held | None, *, actor: str, reason: str, at: datetime
) -> Lifted | None:
    """End every suspension of a subscription, in one transaction; None when there is none, and none was kept for review.

    Where nobody says what becomes of what was held, a storm's is kept for review and any other is delivered.
    """
    async with engine.begin() as connection:
        await heads.lock(connection, [address.tenant])
        standing = await suspensions.standing(connection, address.tenant, [address.name])
        found = standing.get(address.name, [])
        if not found:
            return None
        choice = held or ("review" if any(one.cause == "storm" for one in found) else "deliver")
        lifts = [
            Lift(suspension=one.id, subscription=address.name, held=choice, by=actor, reason=reason, at=at)
            for one in found
        ]
        await suspensions.lift(connection, address.tenant, lifts)
        raised = await heads.raise_versions(connection, [address.tenant])
        return Lifted(tuple(found), raised[address.tenant])


async def extend(
    connection: AsyncConnection, steps: Iterable[Step], *, actor: str, reason: str | None, at: datetime
) -> None:
    """A budget that was changed ends what it suspended, in the caller's transaction: what was held is delivered.

    Where it still has no room the first of it suspends anew. Budgets of agents and tenants concern all of a tenant.
    """
    for step in steps:
        before, after = step.before, step.after
        if before is None or _budget(before.spec) == _budget(after.spec):
            continue
        tenant, name = after.address.tenant, after.address.name
        names = [name] if after.address.kind == "Subscription" else None
        lifts = [
            Lift(
                suspension=one.id,
                subscription=one.subscription,
                held="deliver",
                by=actor,
                reason=reason or f"the budget of {after.address} was changed",
                at=at,
            )
            for one in await suspensions.of_budgets(connection, tenant, names)
        ]
        await suspensions.lift(connection, tenant, lifts)


def _budget(spec: Mapping[str, Any]) -> object:
    limits = spec.get("limits")
    return spec.get("budget", limits.get("budget") if isinstance(limits, Mapping) else None)
