"""The deposit: messages become claimable in the transaction that decided them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import orjson

from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries
from sereno.mailbox.message import Message

T = TypeVar("T")

_SQL = queries.load("sereno.mailbox", "deposit.sql")


async def deposit(conn: AnyConnection, messages: Sequence[Message]) -> None:
    """Write messages and their work in the caller's transaction: one statement (two with serial keys), idempotent by message id.

    Raises asyncpg.UniqueViolationError when another transaction deposited one of them meanwhile: try again.
    After the commit the caller tells the workers with `wake.Wake.publish(wake.mailboxes(messages))`.
    """
    if not messages:
        return
    once: dict[Any, Message] = {}
    for message in messages:
        once.setdefault((message.tenant, message.id), message)
    messages = list(once.values())
    lines = [(m.tenant, m.agent, m.serial_key) for m in messages if m.serial_key is not None]
    if lines:
        await conn.execute(_SQL["join_lines"], *map(list, zip(*lines, strict=True)))
    await conn.execute(_SQL["deposit_batch"], *_arguments(messages))


def _arguments(messages: Sequence[Message]) -> list[list[Any]]:
    """What messages have in common goes once: their flows, and the terms of each subscription's version."""
    terms = [_terms(message) for message in messages]
    flows, their_terms = _numbered(one[:3] for one in terms), _numbered(terms)
    left = Counter(one[:3] for one in terms)
    top: dict[Any, int] = {}
    for one in their_terms:
        top[one[:3]] = max(one[5], top.get(one[:3], one[5]))
    return [
        *_columns([(*flow, left[flow], top[flow]) for flow in flows]),
        *_columns([(flows[one[:3]], *one[3:]) for one in their_terms]),
        [message.id for message in messages],
        [their_terms[one] for one in terms],
        _after(terms, left),
        _sparse([message.ready_at for message in messages]),
        _sparse([message.serial_key for message in messages]),
        _sparse([message.context.get("on_behalf_of") for message in messages]),
        [_json(list(message.envelopes)) for message in messages],
        _sparse([_json(list(message.lineage)) if message.lineage else None for message in messages]),
        _sparse([_json(dict(message.context)) if message.context else None for message in messages]),
    ]


def _terms(message: Message) -> tuple[Any, ...]:
    """What the flow and all else but the cause fixes; the first three are the flow, the sixth is the priority."""
    return (
        message.tenant,
        message.agent,
        message.subscription.name,
        message.subscription.version,
        message.instruction,
        message.priority,
        message.max_attempts,
        message.lease_seconds,
        message.max_run_seconds,
        message.max_age_seconds,
    )


def _numbered(values: Iterable[T]) -> dict[T, int]:
    """Each distinct value with its number, from 1, in order of appearance."""
    numbers: dict[T, int] = {}
    for value in values:
        numbers.setdefault(value, len(numbers) + 1)
    return numbers


def _after(terms: Iterable[tuple[Any, ...]], left: Counter[Any]) -> list[int]:
    """How many of the same flow come after each."""
    after = []
    for one in terms:
        left[one[:3]] -= 1
        after.append(left[one[:3]])
    return after


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _sparse(column: list[Any]) -> list[Any]:
    """A column in which nothing stands is not worth its place on the wire."""
    return column if any(value is not None for value in column) else []


def _json(value: object) -> str:
    # As text: in an array of json the driver would take a list for one more dimension.
    return orjson.dumps(value).decode()
