"""What people do to one object by hand: pause, resume, suspend, remove, hand over; each with a reason."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.catalog import declared
from sereno.control_plane.catalog.caller import Caller
from sereno.control_plane.catalog.decider import Command, fold
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.judging import Judge
from sereno.control_plane.catalog.plan import Intent, step
from sereno.control_plane.catalog.refusal import Refusal
from sereno.control_plane.catalog.subscription import Move
from sereno.control_plane.committing import commit
from sereno.control_plane.store import heads, rights
from sereno.control_plane.store.event_store import StreamId, read_streams

Verb = Literal["pause", "resume", "delete"]
Decide = Callable[[Item, Judge], Command | Refusal]


@dataclass(frozen=True, slots=True)
class Operated:
    """The object after the step, and the manifest version that says so."""

    item: Item
    manifest: int


async def operate(
    engine: AsyncEngine, address: Address, verb: Verb, *, by: Caller, reason: str, at: datetime
) -> Operated | Refusal:
    """Take one step in the life of an object, in one transaction, if the caller may."""

    def command(item: Item, judge: Judge) -> Command | Refusal:
        answer = judge.operate(item, verb)
        return answer if isinstance(answer, Refusal) else _command(address, verb, by.name, reason)

    return await change(engine, address, command, by=by, reason=reason, at=at)


async def change(
    engine: AsyncEngine, address: Address, command: Decide, *, by: Caller, reason: str | None, at: datetime
) -> Operated | Refusal:
    """Do to an object what `command` makes of its state and of what the caller may."""
    async with engine.connect() as connection:
        await heads.lock(connection, [address.tenant])
        stream = StreamId(address.tenant, address.stream)
        item = fold(address, (await read_streams(connection, [stream]))[stream])
        judge = await rights.judge(connection, [address.tenant], by, at)
        if item is None:
            return Refusal("not_found", f"{address} does not exist")
        wanted = command(item, judge)
        answer = wanted if isinstance(wanted, Refusal) else step(item, wanted, Intent(by.name, at, reason))
        if isinstance(answer, Refusal):
            return answer
        refusal = await commit(connection, [answer], actor=by.name, reason=reason, at=at)
        if refusal is not None:
            return refusal
        versions = await heads.versions(connection, [address.tenant])
        await connection.commit()
        return Operated(answer.after, versions[address.tenant])


def _command(address: Address, verb: Verb, actor: str, reason: str) -> Command:
    if address.kind == "Subscription":
        return Move(address, verb, actor, reason)
    return declared.Withdraw(address) if verb == "delete" else declared.Switch(address, verb)
