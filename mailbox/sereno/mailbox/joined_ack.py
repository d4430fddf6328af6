"""An acknowledgement inside the caller's own PostgreSQL transaction: both commit, or neither does."""

import inspect
from collections.abc import Mapping
from typing import Any

from sereno.mailbox.engine import queries
from sereno.mailbox.lease_lost import LeaseLostError
from sereno.mailbox.refusals import expect_json

REFUSED = "SR001"
"""The SQLSTATE with which the database refuses a lease that is not live; its message is the status."""

_SQL = queries.load("sereno.mailbox", "joined_ack.sql")


async def ack(
    connection: Any, token: int, result: object = None, usage: Mapping[str, Any] | None = None
) -> None:
    """Acknowledge in the transaction that is open on `connection`: asyncpg's, or psycopg's of either kind.

    The connection's role needs no right but to execute the function (`sereno_worker`). Raises
    `LeaseLostError` when the lease is not live, and the transaction is aborted: the caller's writes roll back.
    Raises ValueError outside a transaction, where there is nothing to join, and for a result or usage that is
    no JSON or larger than 64 KiB.
    """
    arguments = (token, expect_json("result", result), expect_json("usage", usage))
    try:
        if hasattr(connection, "fetchval"):
            _expect_transaction(connection.is_in_transaction())
            await connection.fetchval(_SQL["ack_in_transaction"], *arguments)
        else:
            _expect_transaction(not connection.autocommit or connection.info.transaction_status != 0)
            answered = connection.execute(_SQL["ack_in_transaction_psycopg"], arguments)
            if inspect.isawaitable(answered):
                await answered
    except Exception as fault:
        if getattr(fault, "sqlstate", None) != REFUSED:
            raise
        raise LeaseLostError(token, str(fault).splitlines()[0]) from fault


def _expect_transaction(is_open: bool) -> None:
    if not is_open:
        raise ValueError("connection: expected an open transaction that the acknowledgement can join")
