"""One turn at a source: what is asked, what of it is news, and what is written of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sereno.envelope.envelope import Envelope
from sereno.envelope.identifiers import RANDOM_BYTES, uuid7
from sereno.execution_plane.listeners.mcp import pins, sources, telling
from sereno.execution_plane.listeners.mcp.away import CallsUsedUpError, NotAllowedError
from sereno.execution_plane.listeners.mcp.connections import Asked
from sereno.execution_plane.listeners.mcp.extraction import (
    Found,
    Observed,
    UnreadableError,
    extract,
    faults_of,
    items_of,
    moment_of,
    next_page,
)
from sereno.execution_plane.listeners.mcp.novelty import news
from sereno.execution_plane.listeners.mcp.signal import of_item
from sereno.execution_plane.listeners.mcp.sources import Reading, Turn
from sereno.execution_plane.platform_events import outgoing
from sereno.mailbox import notices
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import faults, outbox
from sereno.subscriptions.tool_access import objection

MOST_ITEMS = 10_000
"""Of one observation."""
LONGEST_WAIT = timedelta(hours=1)
"""The longest back-off, unless a source is polled less often anyway."""


@dataclass(frozen=True, slots=True)
class Pages:
    """The answers of one observation, and what asks for the page that comes next, if there is one."""

    variables: Sequence[Mapping[str, Any]]
    following: Any = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What the readings of a source made of one observation."""

    by_reading: Sequence[tuple[Reading, Observed]]
    following: Any


async def observe(pool: AnyPool, session: Asked, turn: Turn, now: datetime) -> Pages:
    """Ask for the pages of a source, from where it was left.

    Raises `SourceAwayError`, `UnreadableError`, `NotAllowedError`, `CallsUsedUpError` and `StoppedError`.
    """
    asks, page = turn.asks, turn.progress.page
    refused = objection(session.connection.spec, asks.tool, _arguments(turn, page))
    if refused is not None:
        raise NotAllowedError(refused)
    await _expect_reading(pool, session, turn, now)
    found: list[Mapping[str, Any]] = []
    for _ in range(1 if asks.pages is None else asks.pages.most):
        arguments = _arguments(turn, page)
        refused = objection(session.connection.spec, asks.tool, arguments)
        if refused is not None:
            raise NotAllowedError(refused)
        if not await sources.count_call(pool, session.connection, now):
            raise CallsUsedUpError
        variables = (await session.call(asks.tool, arguments)).variables
        found.append(variables)
        page = None if asks.pages is None else next_page(variables, asks.pages.next)
        if page is None:
            break
    return Pages(found, page)


async def _expect_reading(pool: AnyPool, session: Asked, turn: Turn, now: datetime) -> None:
    """The tool is what was pinned, and one that reads, as far as its name and its server say."""
    await pins.expect_known(pool, session, now)
    definition = (await session.tools()).get(turn.asks.tool)
    if definition is None:
        raise NotAllowedError(f"the server has no tool {turn.asks.tool}")
    if definition.writes is not None:
        raise NotAllowedError(f"the tool {turn.asks.tool} is refused: {definition.writes}")


def _arguments(turn: Turn, page: Any) -> dict[str, Any]:
    asks, arguments = turn.asks, dict(turn.asks.arguments)
    if asks.cursor is not None and turn.progress.mark is not None:
        arguments[asks.cursor.argument] = turn.progress.mark
    if asks.pages is not None and page is not None:
        arguments[asks.pages.argument] = page
    return arguments


def seen(pages: Pages, readings: Sequence[Reading]) -> Seen:
    """What each reading finds in the pages. Raises `UnreadableError`."""
    found = []
    for reading in readings:
        items = [item for variables in pages.variables for item in items_of(variables, reading.spec)]
        if len(items) > MOST_ITEMS:
            raise UnreadableError(f"{len(items):,} items in one observation; at most {MOST_ITEMS:,} are read")
        found.append((reading, extract(items, reading.spec)))
    return Seen(found, pages.following)


async def write(  # noqa: PLR0917 - what was found, when, and by which turn
    connection: AnyConnection,
    turn: Turn,
    found: Seen,
    following: datetime,
    now: datetime,
    new_id: Callable[[], str],
) -> int:
    """Write what is known now, what is told of it, and how far the source is read, in the caller's transaction.

    How many signals leave; none when the turn was overtaken, whose cursor is not its own any more.
    """
    if not await sources.hold(connection, turn):
        return 0
    signals: list[Envelope] = []
    sentences: list[str] = []
    for reading, observed in found.by_reading:
        memory = await sources.memory(connection, turn, reading, observed.items)
        fresh = news(observed.items, memory, newest_first(observed.items, reading))
        await sources.remember(connection, turn, reading, fresh, found.following is None, now)
        sentences += faults_of(observed)
        for item in fresh.tell:
            made = _signals(turn, reading, item, new_id, now)
            signals += [one for one in made if one is not None]
            if None in made:
                sentences.append(
                    f"item {item.id[:100]!r} is larger than an event may be: name fields in project"
                )
    faults.point("mcp.items_written")
    await outbox.append(connection, "execution", outgoing(signals))
    faults.point("mcp.candidates_written")
    progress = turn.progress.after([observed for _, observed in found.by_reading], found.following)
    await sources.polled(connection, turn, progress, following, now)
    if sentences:
        await notices.record(connection, [telling.unreadable(turn, sentences)])
    faults.point("mcp.before_commit")
    return len(signals)


def _signals(
    turn: Turn, reading: Reading, item: Found, new_id: Callable[[], str], now: datetime
) -> list[Envelope | None]:
    return [of_item(item, view, turn.origin, new_id(), now) for view in reading.views]


def newest_first(items: Sequence[Found], reading: Reading) -> list[Found]:
    """The items by their time, else by their mark, the newest first; without either as the source lists them."""
    times = {item.key: moment_of(item.data, reading.spec.time) for item in items}
    moments = {key: moment for key, moment in times.items() if moment is not None}
    if len(moments) == len(times):
        return sorted(items, key=lambda item: moments[item.key], reverse=True)
    marks = [item.mark for item in items]
    if all(isinstance(mark, str) for mark in marks) or all(isinstance(mark, int | float) for mark in marks):
        return sorted(items, key=lambda item: item.mark, reverse=True)  # type: ignore[arg-type,return-value]
    return list(items)


def following(turn: Turn, now: datetime, chance: float, *, failed: bool = False) -> datetime:
    """When a source is polled next: after its interval, up to a tenth earlier or later by `chance` (0 to 1); after
    failures later and later.
    """
    wait = turn.every
    if failed:
        wait = min(wait * 2 ** min(turn.failures + 1, 10), max(LONGEST_WAIT, wait))
    return now + wait * (0.9 + chance / 5)


def next_hour(now: datetime) -> datetime:
    """When calls are counted anew."""
    return now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)


def receiptid(now: datetime, randomness: Callable[[int], bytes]) -> str:
    """A new receipt."""
    return str(uuid7(int(now.timestamp() * 1000), randomness(RANDOM_BYTES)))
