"""Checkpoints of the audit chains, signed and appended to a file outside the database each minute."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.minting import utc_now
from sereno.control_plane.publishing.signing_key import SigningKey
from sereno.control_plane.recording import PLANE
from sereno.control_plane.store.engine import driver
from sereno.control_plane.waiting import pause
from sereno.mailbox.audit import checkpoint, ledger
from sereno.mailbox.audit.chain import Head
from sereno.mailbox.audit.checkpoint import Checkpoint
from sereno.mailbox.audit.standing import AuditStanding
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import logger
from sereno.subscriptions.models.types import format_instant

EVERY_SECONDS = 60.0
_log = logger("audit")


@dataclass(frozen=True, slots=True)
class Anchors:
    """The signed ends of one tenant's chain in a file of checkpoints, and the lines that cannot be trusted."""

    heads: tuple[Head, ...]
    faults: tuple[str, ...]


class Checkpointer:
    """Writes a line whenever a chain has grown; the file is only ever appended to."""

    def __init__(
        self, engine: AsyncEngine, key: SigningKey, path: Path, standing: AuditStanding | None = None
    ) -> None:
        self._engine = engine
        self._key = key
        self._path = path
        self._last: dict[str, Head] = {}
        self._standing = standing or AuditStanding(PLANE)

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop`; a database or disk that is away is told and tried again."""
        while not stop.is_set():
            try:
                await self.take()
            except (*DATABASE_FAULTS, SQLAlchemyError, OSError) as fault:
                _log.warning("checkpoint_retry", error=type(fault).__name__)
            await pause(stop, EVERY_SECONDS)

    async def take(self) -> bool:
        """Sign and append the ends of all chains as of now; whether there was anything new."""
        async with self._engine.connect() as connection:
            ends = await ledger.heads(await driver(connection), PLANE)
        if ends == self._last:
            return False
        taken = Checkpoint(PLANE, format_instant(utc_now()), ends, {})
        line = checkpoint.sign(taken, self._key.private, self._key.id)
        await asyncio.to_thread(_append, self._path, line)
        self._last = ends
        self._standing.signed(ends)
        return True


def _append(path: Path, line: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(line + b"\n")
        file.flush()


def anchors(text: bytes, key: SigningKey, tenant: str) -> Anchors:
    """What a file of checkpoints says about one tenant's chain."""
    trusted = {key.id: key.private.public_key()}
    heads, faults = [], []
    for number, line in enumerate(text.splitlines(), 1):
        found = checkpoint.read(line, trusted)
        if isinstance(found, str):
            faults.append(f"checkpoint in line {number}: {found}")
        elif tenant in found.heads:
            heads.append(found.heads[tenant])
    return Anchors(tuple(heads), tuple(faults))
