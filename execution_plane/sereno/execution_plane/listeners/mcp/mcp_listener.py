"""The listener of connected sources: each is observed once for all who read it, whoever looks."""

import asyncio
import contextlib
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, ClassVar

from sereno.execution_plane.listeners.listener import AWAY, Clock
from sereno.execution_plane.listeners.mcp import pins, polling, sources, telling
from sereno.execution_plane.listeners.mcp.away import (
    CallsUsedUpError,
    NotAllowedError,
    SourceAwayError,
    StoppedError,
)
from sereno.execution_plane.listeners.mcp.connections import Asked, Connections, Key, Open
from sereno.execution_plane.listeners.mcp.derivation import derive
from sereno.execution_plane.listeners.mcp.extraction import UnreadableError
from sereno.execution_plane.listeners.mcp.sources import SQL, Connection, Turn
from sereno.execution_plane.listeners.schedules import Stamp, manifests
from sereno.execution_plane.platform_events import outgoing
from sereno.mailbox import notices
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import faults, outbox
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import counter, logger

LEASE = timedelta(seconds=90)
"""How long one turn may take; who dies at it keeps source and slot so long."""
AT_ONCE = 64
"""Turns of one process."""
STALLS_AT = 3
"""After so many failures in a row a source counts as stalled, and its owner is told."""
LOOK_SECONDS = 1.0
_USED_OF_LEASE = 0.8
_FORGET_SECONDS = 3_600.0
_CHANNEL = "sereno_connectors"
_polls = counter("sereno.mcp.polls")
_written = counter("sereno.ingress.events")
_log = logger("mcp")


class McpListener:
    """Follows the catalog, asks the servers of connectors for what is due, and writes signals of what is news."""

    family: ClassVar[str] = "mcp"

    def __init__(
        self, pool: AnyPool, randomness: Callable[[int], bytes], opening: Open, *, lease: timedelta = LEASE
    ) -> None:
        self._pool = pool
        self._randomness = randomness
        self._lease = lease
        self._derived: dict[str, Stamp] = {}
        self._turns: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._hinted: set[Key] = set()
        self._now: datetime | None = None
        self._connections = Connections(opening, self._expect, self._hint)
        # Of a series that begins with its first fault, nobody sees that it rose.
        for status in ("news", "same", "away", "fault"):
            _polls.add(0, {"status": status})

    async def observe(self, now: datetime) -> int:
        """See `Listener.observe`; how many sources had their turn."""
        turns = await self._begin(now)
        await asyncio.gather(*turns)
        return len(turns)

    async def run(self, clock: Clock, stop: asyncio.Event) -> None:
        """Give each source its turns until `stop`: a slow server makes no other source late."""
        loop = asyncio.get_running_loop()
        hearing = asyncio.create_task(self._hear())
        forget_at = loop.time()
        try:
            while not stop.is_set():
                try:
                    await self._begin(await clock())
                    if loop.time() >= forget_at:
                        await self._pool.execute(SQL["forget_items"], sources.KEPT_DAYS)
                        forget_at = loop.time() + _FORGET_SECONDS
                except AWAY as fault:
                    _log.warning("listener_retry", family=self.family, error=type(fault).__name__)
                await self._rest(stop)
        finally:
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)
            await self.close()

    async def close(self) -> None:
        """End the turns that run, and every connection."""
        for turn in self._turns:
            turn.cancel()
        await asyncio.gather(*self._turns, return_exceptions=True)
        await self._connections.close()

    async def _rest(self, stop: asyncio.Event) -> None:
        stopping, woken = asyncio.create_task(stop.wait()), asyncio.create_task(self._wake.wait())
        await asyncio.wait({stopping, woken}, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        woken.cancel()
        self._wake.clear()

    async def _begin(self, now: datetime) -> list[asyncio.Task[None]]:
        self._now = now
        await self._derive_changed(now)
        hinted, self._hinted = self._hinted, set()
        await sources.hint(self._pool, hinted, now)
        begun = [asyncio.create_task(self._reload(each, now)) for each in await sources.wanting(self._pool)]
        room = AT_ONCE - len(self._turns)
        turns = await sources.claim(self._pool, now, room, self._lease) if room > 0 else []
        tasks = [asyncio.create_task(self._take(turn, now)) for turn in turns]
        for task in [*begun, *tasks]:
            self._turns.add(task)
            task.add_done_callback(self._ended)
        await asyncio.gather(*begun) if not tasks and begun else None
        return tasks

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._turns.discard(task)
        # Its slot is free: another source of the account may be next.
        self._wake.set()

    async def _derive_changed(self, now: datetime) -> None:
        for tenant, stamp in (await manifests(self._pool)).items():
            if self._derived.get(tenant) != stamp:
                async with self._pool.acquire() as connection, connection.transaction():
                    await derive(connection, tenant, now)
                self._derived[tenant] = stamp
                await self._connections.keep(await self._declared())

    async def _declared(self) -> set[Key]:
        rows = await self._pool.fetch(SQL["asked_connectors"])
        return {(row["tenant_id"], row["connector"]) for row in rows}

    def _hint(self, key: Key) -> None:
        self._hinted.add(key)
        self._wake.set()

    async def _take(self, turn: Turn, now: datetime) -> None:
        """One source that fails in a way we do not know must not keep the others from their turns."""
        try:
            await self._turn(turn, now)
        except AWAY as fault:
            _log.warning("turn_lost", source=turn.source, error=type(fault).__name__)
        except Exception as fault:  # noqa: BLE001 - its lease ends, and it is tried again
            _polls.add(1, {"status": "fault"})
            _log.error("turn_fault", source=turn.source, error=f"{type(fault).__name__}: {fault}")

    async def _turn(self, turn: Turn, now: datetime) -> None:
        try:
            async with asyncio.timeout(self._lease.total_seconds() * _USED_OF_LEASE):
                found = await self._see(turn, now)
        except (SourceAwayError, UnreadableError, NotAllowedError) as fault:
            await self._fail(turn, str(fault), now)
        except TimeoutError:
            await self._fail(turn, "it took longer than a turn may", now)
        except CallsUsedUpError:
            await self._put_off(turn, polling.next_hour(now), "the calls of this hour are used up")
        except StoppedError as fault:
            await self._put_off(turn, now, str(fault))
        else:
            await self._write(turn, found, now)

    async def _see(self, turn: Turn, now: datetime) -> polling.Seen:
        async with self._connections.use(turn.connection) as session:
            pages = await polling.observe(self._pool, session, turn, now)
        readings = await sources.readings(self._pool, turn)
        return await asyncio.to_thread(polling.seen, pages, readings)

    async def _write(self, turn: Turn, found: polling.Seen, now: datetime) -> None:
        following = polling.following(turn, now, self._chance())
        async with self._pool.acquire() as connection, connection.transaction():
            told = await polling.write(connection, turn, found, following, now, lambda: self._receiptid(now))
        faults.point("mcp.after_commit")
        _written.add(told, {"tenant": turn.tenant, "family": self.family})
        _polls.add(1, {"status": "news" if told else "same"})

    async def _fail(self, turn: Turn, fault: str, now: datetime) -> None:
        following = polling.following(turn, now, self._chance(), failed=True)
        async with self._pool.acquire() as connection, connection.transaction():
            row = await sources.failed(connection, turn, following, fault, STALLS_AT)
            if row is not None and row["state"] == "stalled" and turn.state != "stalled":
                names = await sources.names_of(connection, turn)
                notice, event = telling.stalled(turn, names, row["failures"], fault, now)
                await notices.record(connection, [notice])
                await outbox.append(connection, "execution", outgoing([event]))
        _polls.add(1, {"status": "away"})
        _log.warning("source_away", connector=turn.connection.name, source=turn.source, error=fault)

    async def _put_off(self, turn: Turn, until: datetime, why: str) -> None:
        async with self._pool.acquire() as connection, connection.transaction():
            await sources.put_off(connection, turn, until, why)
            if until > (self._now or until):
                await notices.record(connection, [telling.used_up(turn)])

    async def _reload(self, connection: Connection, now: datetime) -> None:
        """Connect anew beside the connection in use, which stays until the new one is good."""
        fault: str | None = None
        try:
            await self._connections.current(connection)
        except (SourceAwayError, StoppedError) as away:
            fault = str(away)
        except AWAY:
            return
        connected = now if fault is None else None
        with contextlib.suppress(*DATABASE_FAULTS):
            await self._pool.execute(SQL["reloaded"], *connection.key, connection.reload, connected, fault)

    async def _expect(self, session: Asked) -> None:
        """The server of a new connection is what it should be."""
        now = await self._pool.fetchval("SELECT clock_timestamp()")
        await pins.expect_known(self._pool, session, now)
        await pins.expect_account(self._pool, session, now)

    async def _hear(self) -> None:
        """Wishes to connect anew are heard at once; without this they are found at the next look."""
        while True:
            with contextlib.suppress(*DATABASE_FAULTS):
                async with self._pool.acquire() as connection:
                    lost = asyncio.Event()
                    connection.add_termination_listener(lambda *_, lost=lost: lost.set())
                    await connection.add_listener(_CHANNEL, self._called)
                    try:
                        await lost.wait()
                    finally:
                        with contextlib.suppress(*DATABASE_FAULTS):
                            await connection.remove_listener(_CHANNEL, self._called)
            await asyncio.sleep(LOOK_SECONDS)

    def _called(self, *_: Any) -> None:
        self._wake.set()

    def _chance(self) -> float:
        return int.from_bytes(self._randomness(4)) / 2**32

    def _receiptid(self, now: datetime) -> str:
        return polling.receiptid(now, self._randomness)
