"""Criteria as they are judged: by which model and with which prompt, and whether another makes one due for a replay."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from sereno.execution_plane.evaluator import prompt
from sereno.execution_plane.guards.condition import criterion_version
from sereno.execution_plane.guards.subscription import Criterion
from sereno.execution_plane.pipeline.columns import as_json
from sereno.mailbox import notices
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.notices import Notice

SQL = queries.load("sereno.execution_plane.evaluator", "criteria.sql")


class Judge(Protocol):
    """With what a verdict was made."""

    @property
    def model(self) -> str | None:
        """The model that answered, if one did."""


class Due(NamedTuple):
    """A subscription whose criterion is due for a replay."""

    tenant: str
    subscription: str


async def note(
    pool: AnyPool, tenant: str, subscription: str, criterion: Criterion, made: Mapping[str, Judge]
) -> None:
    """Remember by whom this criterion is judged, the first time that somebody does."""
    model = next((one.model for one in made.values() if one.model is not None), None)
    if model is not None:
        await pool.execute(SQL["note"], *_named(tenant, subscription, criterion), model, prompt.VERSION)


async def mark_changed(pool: AnyPool, models: Iterable[str]) -> list[Due]:
    """Mark what was judged otherwise than it is now: by a model that is not declared any more, or with another prompt."""
    rows = await pool.fetch(SQL["mark"], sorted(set(models)), prompt.VERSION)
    return [Due(*row) for row in rows]


async def tell_changed(pool: AnyPool, models: Iterable[str]) -> None:
    """Mark what is judged otherwise than it was, and let the owners know, each once."""
    due = await mark_changed(pool, models)
    async with pool.acquire() as conn:
        await notices.record(conn, [_notice(one) for one in due])


def _notice(due: Due) -> Notice:
    text = f"another model or prompt judges {due.subscription} now: sereno sub quality {due.subscription} --replay"
    return Notice(due.tenant, f"recheck/{due.subscription}", text)


async def mark(conn: AnyConnection, tenant: str, subscriptions: Sequence[str], reason: str) -> list[Due]:
    """Mark what these subscriptions judge, because something that they judge by changed: `connector`, `tool`."""
    rows = await conn.fetch(SQL["mark_subscriptions"], tenant, list(subscriptions), reason)
    return [Due(*row) for row in rows]


async def replayed(
    pool: AnyPool, tenant: str, subscription: str, criterion: Criterion, *, model: str, result: dict[str, Any]
) -> None:
    """Remember the result of a replay; nothing is due any more."""
    named = _named(tenant, subscription, criterion)
    await pool.execute(SQL["replayed"], *named, model, prompt.VERSION, as_json(result))


def _named(tenant: str, subscription: str, criterion: Criterion) -> tuple[str, str, str, str, float]:
    version = criterion_version(criterion)
    return tenant, subscription, version, criterion.text, criterion.min_confidence
