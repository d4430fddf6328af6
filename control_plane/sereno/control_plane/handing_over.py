"""Handing a subscription to another owner, whose rights it uses from then on."""

from datetime import datetime
from typing import Any

import yaml
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane import applying
from sereno.control_plane.applying import Applied
from sereno.control_plane.catalog.caller import Caller
from sereno.control_plane.catalog.item import Address
from sereno.control_plane.catalog.refusal import Refusal, Refusals
from sereno.control_plane.operating import Operated
from sereno.control_plane.store import projection
from sereno.subscriptions.documents import API_VERSION
from sereno.subscriptions.faults import Faults


async def reassign(
    engine: AsyncEngine, address: Address, *, owner: str, by: Caller, at: datetime, reason: str
) -> Operated | Refusal | Faults:
    """The same text with another owner, as an edit that the policy judges like any other."""
    async with engine.connect() as connection:
        item = await projection.one(connection, address)
    if item is None or not item.live:
        return Refusal("not_found", f"{address} does not exist")
    metadata: dict[str, Any] = {"name": address.name, "tenant": address.tenant, "labels": dict(item.labels)}
    document = {
        "apiVersion": API_VERSION,
        "kind": "Subscription",
        "metadata": {**metadata, "version": item.version},
        "spec": {**item.spec, "owner": owner},
    }
    done = await applying.apply(engine, applying.Request(yaml.safe_dump(document), by, at, reason=reason))
    if isinstance(done, Refusals):
        return done.items[0]
    return (
        Operated(done.steps[0].after, done.manifests[address.tenant]) if isinstance(done, Applied) else done
    )
