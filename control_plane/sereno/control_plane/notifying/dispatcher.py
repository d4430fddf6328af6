"""The dispatcher: every notice goes once through every sink that wants it, and is tried again until it is taken."""

import asyncio
import contextlib
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import asyncpg
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sereno.control_plane.minting import new_id
from sereno.control_plane.notifying import asked, link, sending
from sereno.control_plane.notifying.link import Link
from sereno.control_plane.notifying.sending import NotSentError, Told
from sereno.control_plane.notifying.sink import AnySink
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import logger

LOOK_SECONDS = 2.0
TAKEN_SECONDS = 60.0
PAGE = 50
MOST_ATTEMPTS = 30
FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 2.0, 3600.0

_SQL = queries.load("sereno.control_plane.notifying", "notifying.sql")
_log = logger("notices")


class Dispatcher:
    """Looks at what is to be told every two seconds; level-triggered, and any number may run."""

    def __init__(
        self,
        pool: "asyncpg.Pool[asyncpg.Record]",
        sinks: Sequence[AnySink],
        key: Ed25519PrivateKey,
        control_url: str,
        send: sending.Send = sending.send,
    ) -> None:
        self._pool = pool
        self._sinks = {sink.name: sink for sink in sinks}
        self._key = key
        self._url = control_url.rstrip("/")
        self._send = send
        self._since: Mapping[str, datetime] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Dispatch until `stop` is set; while the database is away it is tried again."""
        while not stop.is_set():
            try:
                while await self.look():
                    pass
            except DATABASE_FAULTS as fault:
                _log.warning("notices_retry", error=type(fault).__name__)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), LOOK_SECONDS)

    async def begin(self) -> None:
        """Remember since when each sink is configured: what was told before is not for it."""
        rows = await self._pool.fetch(_SQL["sinks"], list(self._sinks), datetime.now(UTC))
        self._since = {row["name"]: row["since"] for row in rows}

    async def look(self) -> int:
        """Plan what is new and send what is due; how many were tried."""
        if not self._since:
            await self.begin()
        for name, sink in self._sinks.items():
            await self._plan(sink, await self._pool.fetch(_SQL["untold"], name, self._since[name], PAGE))
        rows = await self._pool.fetch(_SQL["take"], list(self._sinks), TAKEN_SECONDS, PAGE)
        await asyncio.gather(*(self._try(row) for row in rows))
        return len(rows)

    async def _plan(self, sink: AnySink, rows: Sequence[asyncpg.Record]) -> None:
        if rows:
            now = datetime.now(UTC)
            await self._pool.execute(
                _SQL["plan"],
                [row["tenant_id"] for row in rows],
                [row["cause"] for row in rows],
                [row["told"] for row in rows],
                sink.name,
                [new_id(now) for _ in rows],
                [now if sink.wants(dict(row)) else None for row in rows],
            )

    async def _try(self, row: asyncpg.Record) -> None:
        key = row["tenant_id"], row["cause"], row["sink"], row["telling"]
        sink = self._sinks[row["sink"]]
        try:
            await self._send(sink, Told(row["id"], dict(row), self.link(sink, row)))
        except NotSentError as fault:
            again = retry_after(row["attempts"])
            _log.warning("notice_not_sent", sink=sink.name, error=str(fault), attempts=row["attempts"])
            await self._pool.execute(_SQL["failed"], *key, str(fault), again)
        else:
            await self._pool.execute(_SQL["sent"], *key)

    def link(self, sink: AnySink, notice: Mapping[str, Any]) -> str | None:
        """Where the recipient of the sink answers; None when there is nothing to answer, or no one recipient."""
        subject = asked.subject_of(notice)
        if sink.person is None or subject is None or notice["done_at"] is not None:
            return None
        expires = datetime.now(UTC) + link.VALIDITY
        written = Link(
            notice["tenant_id"],
            subject,
            asked.digest_of(notice),
            sink.person,
            expires,
            secrets.token_urlsafe(12),
        )
        return f"{self._url}/l/{link.write(written, self._key)}"


def retry_after(attempts: int) -> float | None:
    """Seconds until the next try, doubling; None when it is given up."""
    if attempts >= MOST_ATTEMPTS:
        return None
    return float(min(LONGEST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** min(attempts - 1, 30)))
