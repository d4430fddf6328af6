"""Grants and standing prohibitions, one at a time; in files they are `kind: Grant`."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson
import yaml
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane import applying
from sereno.control_plane.applying import Applied
from sereno.control_plane.catalog import declared
from sereno.control_plane.catalog.caller import Caller
from sereno.control_plane.catalog.decider import Command
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.judging import Judge
from sereno.control_plane.catalog.refusal import Refusal, Refusals
from sereno.control_plane.operating import Operated, change
from sereno.subscriptions.documents import API_VERSION
from sereno.subscriptions.faults import Faults


def name_of(spec: Mapping[str, Any]) -> str:
    """The name of a grant that nobody named: the same for the same text."""
    word = "deny" if spec.get("deny") else "grant"
    meant = {key: value for key, value in spec.items() if key not in {"reason", "expires", "subscriptions"}}
    digest = hashlib.sha256(orjson.dumps(meant, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return f"{word}-{digest[:12]}"


async def add(
    engine: AsyncEngine, tenant: str, spec: Mapping[str, Any], *, name: str | None, by: Caller, at: datetime
) -> Applied | Faults | Refusals:
    """Give a grant, or forbid something; giving it again after it was taken back revives it."""
    document = {
        "apiVersion": API_VERSION,
        "kind": "Grant",
        "metadata": {"name": name or name_of(spec), "tenant": tenant},
        "spec": dict(spec),
    }
    reason = str(spec.get("reason") or "given by command")
    request = applying.Request(yaml.safe_dump(document), by, at, revive=True, reason=reason)
    return await applying.apply(engine, request)


async def remove(
    engine: AsyncEngine, tenant: str, name: str, *, by: Caller, at: datetime, reason: str
) -> Operated | Refusal:
    """Take a grant back, or lift a prohibition."""
    address = Address(tenant, "Grant", name)

    def command(_item: Item, judge: Judge) -> Command | Refusal:
        answer = judge.require(tenant, "grant", f"remove {address}")
        return answer if isinstance(answer, Refusal) else declared.Withdraw(address)

    return await change(engine, address, command, by=by, reason=reason, at=at)
