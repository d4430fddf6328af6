"""The deposit: messages become claimable in the transaction that decided them."""

from collections.abc import Sequence
from typing import Any

import orjson

from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries
from sereno.mailbox.message import Message

_SQL = queries.load("sereno.mailbox", "deposit.sql")


async def deposit(conn: AnyConnection, messages: Sequence[Message]) -> None:
    """Write messages and their work in the caller's transaction: one statement (two with serial keys), idempotent by message id.

    After the commit the caller tells the workers with `wake.Wake.publish(wake.mailboxes(messages))`.
    """
    if not messages:
        return
    lines = [(m.tenant, m.agent, m.serial_key) for m in messages if m.serial_key is not None]
    if lines:
        await conn.execute(_SQL["join_lines"], *map(list, zip(*lines, strict=True)))
    await conn.execute(_SQL["deposit_batch"], *_columns(messages))


def _columns(messages: Sequence[Message]) -> tuple[list[Any], ...]:
    return tuple(list(column) for column in zip(*map(_row, messages), strict=True))


def _json(value: object) -> str:
    # As text: in an array of json the driver would take a list for one more dimension.
    return orjson.dumps(value).decode()


def _row(message: Message) -> tuple[Any, ...]:
    return (
        message.tenant,
        message.id,
        message.agent,
        message.subscription.name,
        message.subscription.version,
        message.instruction,
        _json(list(message.envelopes)),
        message.priority,
        message.ready_at,
        message.serial_key,
        message.max_attempts,
        message.lease_seconds,
        message.max_run_seconds,
        message.max_age_seconds,
        _json(list(message.lineage)),
        _json(dict(message.context)),
    )
