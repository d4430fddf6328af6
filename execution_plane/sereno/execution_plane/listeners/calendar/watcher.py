"""The calendar watcher: looks at each calendar from time to time, and writes down what is to come of it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar
from uuid import UUID

from sereno.execution_plane.listeners.calendar import calendars, telling
from sereno.execution_plane.listeners.calendar.calendars import SQL, Turn
from sereno.execution_plane.listeners.calendar.derivation import derive
from sereno.execution_plane.listeners.calendar.plan import plan
from sereno.execution_plane.listeners.calendar.reckoning import Reckoned, reckon
from sereno.execution_plane.listeners.calendar.sources.look import Last, Look, Source, SourceAwayError
from sereno.execution_plane.listeners.calendar.sources.readable import readable
from sereno.execution_plane.listeners.schedules import Stamp, manifests
from sereno.mailbox import notices
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import faults
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import counter, logger

HORIZON = timedelta(days=2)
"""So far ahead wake-ups are written down: as long as a calendar may be away before one is missed."""
LONGEST_WAIT = timedelta(hours=1)
LONGEST_LOOK = timedelta(seconds=150)
"""Well within the lease, so that who is slow is never overtaken for it."""
AT_ONCE = 4
_looks = counter("sereno.calendar.looks")
_log = logger("calendar")


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a turn at a source found: what changed, what of it cannot be read, or why nothing is known."""

    look: Look | None = None
    refused: Sequence[str] = ()
    fault: str | None = None

    @property
    def is_news(self) -> bool:
        return self.look is not None and self.look.is_news


class CalendarWatcher:
    """Follows the catalog, looks at calendars whose time has come, and reckons their wake-ups anew."""

    family: ClassVar[str] = "calendar"

    def __init__(self, pool: AnyPool, sources: Mapping[str, Source]) -> None:
        self._pool = pool
        self._sources = sources
        self._derived: dict[str, Stamp] = {}

    async def observe(self, now: datetime) -> int:
        """See `Listener.observe`; how many calendars were looked at."""
        await self._derive_changed(now)
        turns = await calendars.claim_looks(self._pool, now, AT_ONCE)
        await asyncio.gather(*(self._take(turn, now) for turn in turns))
        return len(turns)

    async def _take(self, turn: Turn, now: datetime) -> None:
        """One calendar that is read in no way we know of must not keep the others from theirs."""
        try:
            await self._turn(turn, now)
        except DATABASE_FAULTS:
            raise
        except Exception as fault:  # noqa: BLE001 - its lease ends, and it is tried again
            _looks.add(1, {"status": "fault"})
            _log.error(
                "calendar_fault",
                tenant=turn.followed.tenant,
                subscription=turn.followed.subscription,
                error=f"{type(fault).__name__}: {fault}",
            )

    async def _derive_changed(self, now: datetime) -> None:
        for tenant, stamp in (await manifests(self._pool)).items():
            if self._derived.get(tenant) != stamp:
                async with self._pool.acquire() as connection, connection.transaction():
                    await derive(connection, tenant, now)
                self._derived[tenant] = stamp

    async def _turn(self, turn: Turn, now: datetime) -> None:
        seen = await self._see(turn)
        reckoned = await self._reckon(turn, seen, now)
        faults.point("calendar.after_look")
        async with self._pool.acquire() as connection, connection.transaction():
            held = await calendars.hold_look(connection, turn)
            if held is None:
                return
            if seen.look is not None:
                await calendars.keep(connection, held.followed, seen.look)
            if reckoned is not None:
                await _bring_up_to_date(connection, held, reckoned, seen.refused)
            await _looked(connection, held, seen, now)
            faults.point("calendar.before_commit")
        _looks.add(1, {"status": "away" if seen.fault else "news" if seen.is_news else "same"})

    async def _reckon(self, turn: Turn, seen: _Seen, now: datetime) -> Reckoned | None:
        """What the calendar calls for now, if anything can be other than it was.

        Outside any transaction: a large calendar takes a while. Nobody else writes to it as long as the turn counts.
        """
        if not _is_wanting(turn, seen, now):
            return None
        followed, until = turn.followed, now + HORIZON
        async with self._pool.acquire() as connection:
            last = await calendars.last(connection, followed, until)
        return await asyncio.to_thread(reckon, turn, last.after(seen.look), until)

    async def _see(self, turn: Turn) -> _Seen:
        followed = turn.followed
        if followed.kind == "object":
            return _Seen()
        last = Last(turn.cursor, await calendars.etags(self._pool, followed))
        try:
            async with asyncio.timeout(LONGEST_LOOK.total_seconds()):
                look = await self._sources[followed.kind].look(followed.source, last)
            return _Seen(*await asyncio.to_thread(readable, look))
        except SourceAwayError as fault:
            return _Seen(fault=str(fault))
        except TimeoutError:
            return _Seen(fault=f"it did not answer within {LONGEST_LOOK.total_seconds():.0f} s")


async def _bring_up_to_date(
    connection: AnyConnection, turn: Turn, reckoned: Reckoned, unreadable: Sequence[str]
) -> None:
    followed, reading = turn.followed, reckoned.reading
    known = await calendars.written(connection, followed, reading.wanted, reading.until)
    latest = await calendars.latest(connection, followed, (one.entry for one in reading.wanted))
    found = reckoned.corrected(plan(reading.wanted, known, latest, turn.bounds, edited=turn.edited))
    await calendars.write(connection, followed, found)
    await calendars.refresh(connection, followed, reading.wanted)
    await connection.execute(SQL["brought_up_to_date"], followed.tenant, UUID(followed.id), reading.until)
    refused = [*unreadable, *reading.refused]
    told = [*telling.of_removed(followed, found.removals), *telling.of_unreadable(followed, refused)]
    await notices.record(connection, told)
    await calendars.point(connection, followed)


def _is_wanting(turn: Turn, seen: _Seen, now: datetime) -> bool:
    """Whether there is something to reckon anew: news, an edit, or the end of what was reckoned comes near."""
    if turn.followed.kind == "object" or seen.is_news:
        return True
    if turn.looked_at is None and seen.look is None:
        # It was never read, so nothing is known of it.
        return False
    return turn.known_until is None or turn.edited or turn.known_until - now < HORIZON / 2


async def _looked(connection: AnyConnection, turn: Turn, seen: _Seen, now: datetime) -> None:
    """Write down when to look again; after failures later and later."""
    followed, fault = turn.followed, seen.fault
    failures = turn.failures + 1 if fault else 0
    wait = min(followed.every * 2 ** min(failures, 10), LONGEST_WAIT) if fault else followed.every
    cursor = turn.cursor if seen.look is None else dict(seen.look.cursor)
    await connection.execute(
        SQL["looked"], followed.tenant, UUID(followed.id), cursor, now + wait, failures, fault, now
    )
    if fault:
        _log.warning("calendar_away", tenant=followed.tenant, subscription=followed.subscription, error=fault)
        await notices.record(connection, telling.of_away(followed, failures, fault))
