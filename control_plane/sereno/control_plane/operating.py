"""What people do to a subscription or an endpoint by hand: pause, resume, delete, each with a reason."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.catalog import declared
from sereno.control_plane.catalog.decider import Command, fold
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.plan import Intent, Step, step
from sereno.control_plane.catalog.refusal import Refusal
from sereno.control_plane.catalog.subscription import Move
from sereno.control_plane.committing import commit
from sereno.control_plane.store import heads
from sereno.control_plane.store.event_store import StreamId, read_streams

Verb = Literal["pause", "resume", "delete"]


@dataclass(frozen=True, slots=True)
class Operated:
    """The object after the step, and the manifest version that says so."""

    item: Item
    manifest: int


async def operate(
    engine: AsyncEngine, address: Address, verb: Verb, *, actor: str, reason: str, at: datetime
) -> Operated | Refusal:
    """Take one step in the life of a subscription or an endpoint, in one transaction."""
    async with engine.connect() as connection:
        await heads.lock(connection, [address.tenant])
        stream = StreamId(address.tenant, address.stream)
        events = await read_streams(connection, [stream])
        answer = step(
            fold(address, events[stream]), _command(address, verb, actor, reason), Intent(actor, at, reason)
        )
        if isinstance(answer, Step):
            refusal = await commit(connection, [answer], actor=actor, reason=reason, at=at)
            if refusal is None:
                versions = await heads.versions(connection, [address.tenant])
                await connection.commit()
                return Operated(answer.after, versions[address.tenant])
            return refusal
        return answer


def _command(address: Address, verb: Verb, actor: str, reason: str) -> Command:
    if address.kind == "Endpoint" and verb != "delete":
        return declared.Switch(address, verb)
    return Move(address, verb, actor, reason)
