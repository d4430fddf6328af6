"""The usage log: what each wake-up, evaluation and test reported, once."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Literal, NamedTuple

from sereno.execution_plane.pipeline.columns import columns
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries

_SQL = queries.load("sereno.execution_plane.accounts", "reconciling.sql")

Kind = Literal["wake", "evaluation", "test"]


class Used(NamedTuple):
    """One row; `currency` is empty where no cost was reported, `reserved` is what had been taken in that currency."""

    tenant: str
    reference: str
    currency: str
    at: datetime
    subscription: str
    agent: str
    model: str | None
    outcome: str
    cost: Decimal | None
    reserved: Decimal | None


async def write(conn: AnyConnection, kind: Kind, used: Iterable[Used]) -> None:
    """Append rows of one kind; what is there already is left alone."""
    rows = list(used)
    if rows:
        await conn.execute(_SQL["write_usage"], *columns(rows, 10), kind)
