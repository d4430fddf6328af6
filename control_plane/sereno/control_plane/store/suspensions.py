"""Suspensions: reported by the execution plane, lifted by people, and ended when the execution plane says so."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import RowMapping, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from sereno.control_plane.store.tables import SUSPENSION
from sereno.subscriptions.report import SuspensionEnded, SuspensionReport
from sereno.subscriptions.snapshot import Lift

_KEPT = ("tenant_id", "id", "subscription", "cause", "subject", "at", "sentence")


@dataclass(frozen=True, slots=True)
class Suspension:
    """One that has not ended, or whose backlog waits for a person's review."""

    id: UUID
    subscription: str
    cause: str
    subject: str | None
    at: datetime
    sentence: str
    lifted_at: datetime | None
    held: str | None


async def begin(connection: AsyncConnection, reports: Iterable[SuspensionReport]) -> None:
    """Note suspensions; one that is reported again after it ended stands again."""
    for one in reports:
        row = {"tenant_id": one.tenant, **one.model_dump(exclude={"type", "schema_version", "tenant"})}
        statement = insert(SUSPENSION).values(row)
        again = {name: statement.excluded[name] for name in ("at", "sentence")}
        cleared = dict.fromkeys(("held", "lifted_by", "lifted_at", "reason", "ended_at"))
        await connection.execute(
            statement.on_conflict_do_update(
                index_elements=["tenant_id", "id"],
                set_={**again, **cleared},
                where=SUSPENSION.c.at < statement.excluded["at"],
            )
        )


async def end(connection: AsyncConnection, reports: Iterable[SuspensionEnded]) -> None:
    """Note that suspensions ended: the manifest need not name them any more."""
    for one in reports:
        ended = SUSPENSION.c.tenant_id == one.tenant, SUSPENSION.c.id == one.id, SUSPENSION.c.at <= one.at
        await connection.execute(update(SUSPENSION).where(*ended).values(ended_at=one.at))


async def standing(
    connection: AsyncConnection, tenant: str, subscriptions: list[str]
) -> dict[str, list[Suspension]]:
    """Of each of these subscriptions what has not ended, and what is kept for review, the oldest first."""
    of = SUSPENSION.c.tenant_id == tenant, SUSPENSION.c.subscription.in_(subscriptions)
    waits = or_(SUSPENSION.c.ended_at.is_(None), SUSPENSION.c.held == "review")
    rows = await connection.execute(select(SUSPENSION).where(*of, waits).order_by(SUSPENSION.c.at))
    found: dict[str, list[Suspension]] = {}
    for row in rows.mappings():
        found.setdefault(row["subscription"], []).append(_suspension(row))
    return found


def _suspension(row: RowMapping) -> Suspension:
    return Suspension(
        row["id"],
        row["subscription"],
        row["cause"],
        row["subject"],
        row["at"],
        row["sentence"],
        row["lifted_at"],
        row["held"],
    )


async def lift(connection: AsyncConnection, tenant: str, lifts: Iterable[Lift]) -> None:
    """Note what a person said of suspensions; a later word about what was kept for review replaces the first."""
    for one in lifts:
        of = SUSPENSION.c.tenant_id == tenant, SUSPENSION.c.id == one.suspension
        said = {"held": one.held, "lifted_by": one.by, "lifted_at": one.at, "reason": one.reason}
        await connection.execute(update(SUSPENSION).where(*of).values(**said, ended_at=None))


async def lifts(connection: AsyncConnection, tenant: str) -> tuple[Lift, ...]:
    """What the manifest of the tenant has to name."""
    of = SUSPENSION.c.tenant_id == tenant, SUSPENSION.c.held.is_not(None), SUSPENSION.c.ended_at.is_(None)
    rows = await connection.execute(select(SUSPENSION).where(*of).order_by(SUSPENSION.c.at, SUSPENSION.c.id))
    return tuple(
        Lift(
            suspension=row["id"],
            subscription=row["subscription"],
            held=row["held"],
            by=row["lifted_by"],
            reason=row["reason"] or "",
            at=row["lifted_at"],
        )
        for row in rows.mappings()
    )


async def of_budgets(
    connection: AsyncConnection, tenant: str, subscriptions: list[str] | None
) -> list[Suspension]:
    """What a budget suspends, of these subscriptions or of all, and nobody lifted."""
    of = SUSPENSION.c.tenant_id == tenant, SUSPENSION.c.cause == "budget", SUSPENSION.c.held.is_(None)
    named = [] if subscriptions is None else [SUSPENSION.c.subscription.in_(subscriptions)]
    rows = await connection.execute(select(SUSPENSION).where(*of, *named))
    return [_suspension(row) for row in rows.mappings()]
