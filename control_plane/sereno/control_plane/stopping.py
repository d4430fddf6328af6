"""The emergency stop as the control plane knows it: recorded here, carried out by the data path, confirmed or not."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import exists, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from sereno.control_plane import recording
from sereno.control_plane.catalog.event import NewEvent, record
from sereno.control_plane.catalog.item import Address, Kind
from sereno.control_plane.minting import new_id
from sereno.control_plane.stop_orders import Orders
from sereno.control_plane.store import event_store, projection
from sereno.control_plane.store.event_store import Append, StreamId, read_streams
from sereno.control_plane.store.tables import EVENT
from sereno.mailbox.scope import EVERYTHING, Scope
from sereno.mailbox.stop import Choice
from sereno.mailbox.stop_orders import Engage, Release, Status, StopAnswer
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.report import StopReport

PREFIX = "stop/"
_DECLARED: tuple[tuple[str, Kind], ...] = (("agent", "Agent"), ("subscription", "Subscription"))


@dataclass(frozen=True, slots=True)
class Stop:
    """A stop as it was recorded last."""

    scope: str
    id: UUID
    engaged: bool
    reason: str
    by: str
    at: datetime
    revision: int

    @classmethod
    def of(cls, row: Mapping[Any, Any]) -> "Stop":
        """What the last event of a stop's stream says, as its row."""
        return cls(
            scope=row["stream"].removeprefix(PREFIX),
            id=UUID(row["data"]["id"]),
            engaged=row["type"] == "stop.engaged",
            reason=row["data"]["reason"],
            by=row["actor"],
            at=row["recorded"],
            revision=row["version"],
        )


class StopConflictError(Exception):
    """Another transaction recorded something about the same stop at the same time."""


def tenant_of(scope: Scope) -> str:
    """In whose history a stop stands; those of every tenant have one of their own."""
    return scope.tenant or EVERYTHING


async def undeclared(connection: AsyncConnection, scope: Scope) -> str | None:
    """What is stopped that nobody declared: a slip must not look like a stop."""
    for field, kind in _DECLARED:
        name = getattr(scope, field)
        if name is not None and scope.tenant is not None:
            found = await projection.one(connection, Address(scope.tenant, kind, name))
            if found is None or found.state is State.DELETED:
                return f"{field}: {name} is not declared in tenant {scope.tenant}"
    return None


async def engage(
    engine: AsyncEngine, orders: Orders, scope: Scope, *, by: str, reason: str, at: datetime
) -> tuple[Stop, StopAnswer | None]:
    """Record the stop, then have it carried out; no answer means that it is not confirmed."""
    async with engine.connect() as connection:
        known = await _last(connection, scope)
        if known is None or not known.engaged:
            identity = new_id(at)
            data = {"id": str(identity), "scope": str(scope), "reason": reason}
            await _write(connection, scope, known, NewEvent("stop.engaged", data), by=by, at=at)
            await connection.commit()
            known = await _last(connection, scope)
    if known is None:
        raise AssertionError("what was recorded is there")
    answer = await orders.send(order_of(known))
    if answer is None:
        orders.unconfirmed.set()
    return known, answer


def order_of(stop: Stop) -> Engage:
    """What the data path is to do."""
    return Engage(scope=stop.scope, id=stop.id, reason=stop.reason, principal=stop.by)


async def release(
    engine: AsyncEngine,
    orders: Orders,
    scope: Scope,
    *,
    by: str,
    reason: str,
    held: Choice,
    preview: bool,
    at: datetime,
) -> StopAnswer | None:
    """Have the stop lifted, and record it once that is done; None when the data path does not answer."""
    order = Release(scope=str(scope), reason=reason, principal=by, held=held, preview=preview)
    answer = await orders.send(order)
    if answer is None or preview:
        return answer
    async with engine.connect() as connection:
        known = await _last(connection, scope)
        if known is not None and known.engaged:
            data = {"id": str(known.id), "scope": str(scope), "reason": reason, "held": held}
            await _write(connection, scope, known, NewEvent("stop.released", data), by=by, at=at)
            await connection.commit()
    return answer


async def standing(connection: AsyncConnection) -> Sequence[Stop]:
    """The stops that are recorded as engaged, in every tenant."""
    later = EVENT.alias()
    same = (later.c.tenant_id == EVENT.c.tenant_id) & (later.c.stream == EVENT.c.stream)
    newest = (
        select(EVENT)
        .where(EVENT.c.stream.like(f"{PREFIX}%"), ~exists().where(same, later.c.version > EVENT.c.version))
        .order_by(EVENT.c.tenant_id, EVENT.c.stream)
    )
    stops = [Stop.of(row) for row in (await connection.execute(newest)).mappings()]
    return [stop for stop in stops if stop.engaged]


async def fold(connection: AsyncConnection, reports: Sequence[StopReport]) -> None:
    """Record stops that began on the execution plane itself, while this plane was away."""
    for told in reports:
        scope = Scope.parse(told.scope)
        stream = StreamId(tenant_of(scope), f"{PREFIX}{scope}")
        events = (await read_streams(connection, [stream]))[stream]
        if any(event.data["id"] == str(told.id) for event in events):
            continue
        data = {"id": str(told.id), "scope": told.scope, "reason": told.reason}
        known = Stop.of(asdict(events[-1])) if events else None
        await _write(connection, scope, known, NewEvent("stop.engaged", data), by=told.by, at=told.at)


async def status(orders: Orders) -> StopAnswer | None:
    """What stands in the data path; None when it does not answer."""
    return await orders.send(Status())


async def _last(connection: AsyncConnection, scope: Scope) -> Stop | None:
    stream = StreamId(tenant_of(scope), f"{PREFIX}{scope}")
    events = (await read_streams(connection, [stream]))[stream]
    return Stop.of(asdict(events[-1])) if events else None


async def _write(
    connection: AsyncConnection, scope: Scope, known: Stop | None, event: NewEvent, *, by: str, at: datetime
) -> None:
    stream = StreamId(tenant_of(scope), f"{PREFIX}{scope}")
    revision = known.revision if known else 0
    conflict = await event_store.append(
        connection, [Append(stream, revision, (event,))], actor=by, recorded=at
    )
    if conflict is not None:
        raise StopConflictError(f"the stop of {scope} was changed by another at the same time")
    more: dict[str, Any] = {"stream": stream.stream, "revision": revision, "reason": event.data["reason"]}
    await recording.chain(connection, record([event], tenant=stream.tenant, actor=by, recorded=at, **more))
