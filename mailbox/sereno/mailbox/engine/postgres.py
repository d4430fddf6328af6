"""Connections to PostgreSQL: one pool a process, JSON as Python objects, every call with a time-out."""

from urllib.parse import urlsplit

import asyncpg
import orjson

COMMAND_TIMEOUT_SECONDS = 30.0
CONNECT_TIMEOUT_SECONDS = 8.0

# A forgotten transaction would hold back every follower of a log (docs/explanation/outbox.md).
SESSION = {
    "timezone": "UTC",
    "idle_in_transaction_session_timeout": "30000",
    "lock_timeout": "10000",
    "statement_timeout": "30000",
    "jit": "off",
}

# What any call may raise because the database is away, ended the connection or refused. The last one is what the
# driver says of a connection that died under another call: it is no fault of the data either.
DATABASE_FAULTS = (
    OSError,
    TimeoutError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)


class DatabaseUnreachableError(Exception):
    """PostgreSQL does not answer at the configured address; the message is fit for a person."""


def _json(value: object) -> bytes:
    """The value as JSON; bytes are JSON already."""
    return value if isinstance(value, bytes) else orjson.dumps(value)


# The binary form of `json` is its text in UTF-8, that of `jsonb` has a version before it.
_JSONB = b"\x01"


def _jsonb(value: object) -> bytes:
    return _JSONB + _json(value)


def _of_jsonb(stored: bytes) -> object:
    return orjson.loads(memoryview(stored)[1:])


async def prepare(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Make a connection read and write `json` and `jsonb` as Python objects."""
    # In binary, so that rows can be copied in, and without a turn through a Python string.
    await connection.set_type_codec(
        "jsonb", encoder=_jsonb, decoder=_of_jsonb, schema="pg_catalog", format="binary"
    )
    await connection.set_type_codec(
        "json", encoder=_json, decoder=orjson.loads, schema="pg_catalog", format="binary"
    )


async def _give_back(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Before a connection returns to its pool: nothing but a transaction that is still open needs a round trip.

    No code of ours leaves anything else behind: settings and advisory locks are those of a transaction, and there
    is no LISTEN and no cursor WITH HOLD.
    """
    if connection.is_in_transaction():
        await connection.reset()


def address(dsn: str) -> str:
    """Where a DSN points to, without user and password: for messages."""
    parts = urlsplit(dsn)
    return f"{parts.hostname or 'local socket'}:{parts.port or 5432}{parts.path}"


async def connect(dsn: str, *, application_name: str) -> "asyncpg.Connection[asyncpg.Record]":
    """One connection outside any pool. Raises `DatabaseUnreachableError`."""
    try:
        connection = await asyncpg.connect(
            dsn,
            timeout=CONNECT_TIMEOUT_SECONDS,
            command_timeout=COMMAND_TIMEOUT_SECONDS,
            server_settings={**SESSION, "application_name": application_name},
        )
    except (*DATABASE_FAULTS, ValueError) as fault:
        raise _unreachable(dsn, fault) from fault
    await prepare(connection)
    return connection


async def open_pool(
    dsn: str, *, application_name: str, min_size: int = 1, max_size: int = 8
) -> "asyncpg.Pool[asyncpg.Record]":
    """A pool whose connections read and write `jsonb` as Python objects. Raises `DatabaseUnreachableError`."""
    try:
        return await asyncpg.create_pool(
            dsn,
            min_size=min_size,
            max_size=max_size,
            timeout=CONNECT_TIMEOUT_SECONDS,
            command_timeout=COMMAND_TIMEOUT_SECONDS,
            server_settings={**SESSION, "application_name": application_name},
            init=prepare,
            reset=_give_back,
        )
    except (*DATABASE_FAULTS, ValueError) as fault:
        raise _unreachable(dsn, fault) from fault


def _unreachable(dsn: str, fault: BaseException) -> DatabaseUnreachableError:
    try:
        where = address(dsn)
    except ValueError:
        where = "the given DSN"
    reason = "no answer in time" if isinstance(fault, TimeoutError) else _reason(fault)
    return DatabaseUnreachableError(f"PostgreSQL at {where} does not answer: {reason}")


def _reason(fault: BaseException) -> str:
    # A malformed DSN may be quoted by the driver, and it holds the password.
    return "the DSN is malformed" if isinstance(fault, ValueError) else str(fault) or type(fault).__name__
