"""Engaging and releasing stops: one transaction with the row and everything that is told of it."""

from collections.abc import Sequence
from typing import Any

from sereno.execution_plane import platform_events
from sereno.execution_plane.platform_data import EmergencyStop
from sereno.execution_plane.stops import telling
from sereno.mailbox import stop
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import outbox, queries
from sereno.mailbox.scope import Scope
from sereno.mailbox.stop import Beginning
from sereno.mailbox.stop_orders import Backlog, Engage, Order, Release, StopAnswer, StopState
from sereno.mailbox.wake import Wake

PLANE = "execution"
_SQL = queries.load("sereno.execution_plane.stops", "stops.sql")


async def carry_out(pool: AnyPool, wake: Wake, order: Order) -> StopAnswer:
    """Do what is ordered; the answer says what stands, or stood, and what waits for its end."""
    try:
        match order:
            case Engage():
                return await engage(pool, order)
            case Release():
                return await release(pool, wake, order)
            case _:
                return StopAnswer(stops=tuple(await states(pool)))
    except ValueError as fault:
        return StopAnswer(refusal=str(fault))


async def engage(pool: AnyPool, order: Engage) -> StopAnswer:
    """Stop a scope. Raises ValueError naming it."""

    async def tell(conn: AnyConnection, began: Beginning) -> None:
        await _tell(conn, began, "engaged", reason=began.reason, by=began.principal)
        await outbox.append(conn, PLANE, [telling.report(began)])

    done = await stop.engage(
        pool, order.scope, reason=order.reason, principal=order.principal, identity=order.id, also=tell
    )
    found = [one for one in await states(pool) if (one.scope, one.state) == (order.scope, "engaged")]
    in_flight = tuple(
        f"{one['application_name']} (process {one['pid']}, since {one['xact_start']})"
        for one in done.in_flight
    )
    return StopAnswer(stops=tuple(found), in_flight=in_flight)


async def release(pool: AnyPool, wake: Wake, order: Release) -> StopAnswer:
    """Let a scope go on as `held` says. Raises ValueError naming the scope."""
    Scope.parse(order.scope)
    before = tuple(one for one in await states(pool) if one.scope == order.scope)
    if order.preview or not before:
        refusal = None if before else f"no stop stands for {order.scope}"
        return StopAnswer(stops=before, refusal=refusal)

    async def tell(conn: AnyConnection, began: Beginning) -> None:
        if order.held != "review":
            await conn.execute(_SQL["choose"], order.scope, order.held)
        await _tell(conn, began, "released", reason=order.reason, by=order.principal, held=order.held)

    boxes = await stop.release(
        pool,
        order.scope,
        principal=order.principal,
        reason=order.reason,
        choice=order.held,
        also=tell,
    )
    await wake.publish(boxes or ())
    return StopAnswer(stops=before)


async def states(pool: AnyPool) -> Sequence[StopState]:
    """Every stop that stands or is in review, with its backlog."""
    engaged = [(row, "engaged", row["engaged_at"]) for row in await stop.in_force(pool)]
    reviews = [(row, "review", row["ended_at"]) for row in await stop.in_review(pool)]
    return [
        StopState(
            scope=row["scope"],
            id=row["id"],
            state=state,
            reason=row["reason"],
            by=row["principal"],
            since=since,
            backlog=await backlog(pool, row["scope"]),
        )
        for row, state, since in (*engaged, *reviews)
    ]


async def backlog(pool: AnyPool, scope: str) -> Backlog:
    """What waits for the end of this stop."""
    messages = await stop.waiting(pool, Scope.parse(scope))
    return Backlog(
        **{state: count for state, count in messages.items() if state in Backlog.model_fields},
        events=await pool.fetchval(_SQL["events"], scope),
        schedules=await pool.fetchval(_SQL["schedules"], scope),
    )


async def _tell(
    conn: AnyConnection, one: Beginning, state: str, *, reason: str, by: str, held: str | None = None
) -> None:
    scope = Scope.parse(one.scope)
    tenants = [scope.tenant] if scope.tenant else [row[0] for row in await conn.fetch(_SQL["tenants"])]
    at = await conn.fetchval("select clock_timestamp()")
    data: dict[str, Any] = {"stop": one.id, "scope": one.scope, "state": state, "by": by, "at": at}
    said = EmergencyStop(**data, reason=reason, held=held)
    events = [telling.event(tenant, said) for tenant in tenants]
    await outbox.append(conn, PLANE, platform_events.outgoing(events))
    await telling.note(conn, scope, said)
