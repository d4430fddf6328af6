"""The deposit: messages become claimable in the transaction that decided them."""

from collections.abc import Sequence
from typing import Any

from asyncpg import Connection, Record
from asyncpg.pool import PoolConnectionProxy

from sereno.mailbox.engine import queries
from sereno.mailbox.message import Message

_SQL = queries.load("sereno.mailbox", "deposit.sql")

AnyConnection = Connection[Record] | PoolConnectionProxy[Record]
"""A connection of its own, or one borrowed from a pool."""


async def deposit(conn: AnyConnection, messages: Sequence[Message]) -> None:
    """Write messages and their work in the caller's transaction: one statement, idempotent by message id.

    After the commit the caller tells the workers with `wake.Wake.publish(wake.mailboxes(messages))`.
    """
    if messages:
        await conn.execute(_SQL["deposit_batch"], *_columns(messages))


def _columns(messages: Sequence[Message]) -> tuple[list[Any], ...]:
    return tuple(list(column) for column in zip(*map(_row, messages), strict=True))


def _row(message: Message) -> tuple[Any, ...]:
    return (
        message.tenant,
        message.id,
        message.agent,
        message.subscription.name,
        message.subscription.version,
        message.instruction,
        list(message.envelopes),
        message.priority,
        message.ready_at,
        message.serial_key,
        message.max_attempts,
        message.lease_seconds,
        message.max_run_seconds,
        message.max_age_seconds,
        list(message.lineage),
        dict(message.context),
    )
