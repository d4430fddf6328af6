"""Handing a subscription to another owner, whose rights it uses from then on."""

from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.catalog import subscription
from sereno.control_plane.catalog.caller import Caller
from sereno.control_plane.catalog.decider import Command
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.judging import Judge
from sereno.control_plane.catalog.refusal import Refusal
from sereno.control_plane.operating import Operated, change


async def reassign(
    engine: AsyncEngine, address: Address, *, owner: str, by: Caller, at: datetime, reason: str
) -> Operated | Refusal:
    """The same text with another owner, who needs the rights that it uses."""

    def command(item: Item, judge: Judge) -> Command | Refusal:
        if not item.live:
            return Refusal("not_found", f"{address} was deleted")
        spec = {**item.spec, "owner": owner}
        refused = judge.handover(item, spec)
        if refused is not None:
            return refused
        return subscription.Declare(address, spec, item.labels, item.id, by.name, reason)

    return await change(engine, address, command, by=by, reason=reason, at=at)
