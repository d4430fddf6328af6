"""Checkpoints of a plane's chains, signed and appended to a file outside the database each minute."""

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sereno.mailbox.audit import checkpoint, crossing, ledger
from sereno.mailbox.audit.chain import Head
from sereno.mailbox.audit.checkpoint import Checkpoint
from sereno.mailbox.audit.keys import AuditKey, Trusted
from sereno.mailbox.audit.standing import AuditStanding
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import logger

EVERY_SECONDS = 60.0
OTHER = {"control": "execution", "execution": "control"}
_log = logger("audit")


@dataclass(frozen=True, slots=True)
class Anchors:
    """The signed ends of one tenant's chain in a file of checkpoints, and the lines that cannot be trusted."""

    heads: tuple[Head, ...] = ()
    faults: tuple[str, ...] = ()


class Checkpointer:
    """Writes a line whenever a chain of the plane has grown; the file is only ever appended to."""

    def __init__(
        self, pool: AnyPool, plane: str, key: AuditKey, path: Path, standing: AuditStanding | None = None
    ) -> None:
        self._pool = pool
        self._plane = plane
        self._key = key
        self._path = path
        self._last: dict[str, Head] = {}
        self._standing = standing or AuditStanding(plane)

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop`; a database or disk that is away is told and tried again."""
        while not stop.is_set():
            try:
                await self.take()
            except (*DATABASE_FAULTS, OSError) as fault:
                _log.warning("checkpoint_retry", error=type(fault).__name__)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), EVERY_SECONDS)

    async def take(self) -> bool:
        """Sign and append the ends of all chains as of now; whether there was anything new."""
        async with self._pool.acquire() as conn:
            ends = await ledger.heads(conn, self._plane)
            others = await crossing.anchored(conn, self._plane)
        if ends == self._last:
            return False
        roots = {OTHER[self._plane]: checkpoint.root(others).hex()} if others else {}
        taken = Checkpoint(self._plane, now(), ends, roots)
        line = checkpoint.sign(taken, self._key.private, self._key.id)
        await asyncio.to_thread(_append, self._path, line)
        self._last = ends
        self._standing.signed(ends)
        return True


def now() -> str:
    """As checkpoints say when they were taken."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _append(path: Path, line: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(line + b"\n")
        file.flush()


def read_file(path: Path | None, keys: Trusted, plane: str, tenant: str) -> Anchors:
    """What the file of a plane's checkpoints says about one tenant's chain; none yet is none."""
    if path is None:
        return Anchors()
    try:
        return anchors(path.read_bytes(), keys, plane, tenant)
    except FileNotFoundError:
        return Anchors()


def anchors(text: bytes, keys: Trusted, plane: str, tenant: str) -> Anchors:
    """What such a file says."""
    heads, faults = [], []
    for number, found in _checkpoints(text, keys):
        if isinstance(found, str):
            faults.append(f"checkpoint in line {number}: {found}")
        elif found.plane != plane:
            faults.append(f"checkpoint in line {number}: it is one of the {found.plane} plane")
        elif tenant in found.heads:
            heads.append(found.heads[tenant])
    return Anchors(tuple(heads), tuple(faults))


def _checkpoints(text: bytes, keys: Trusted) -> Iterator[tuple[int, Checkpoint | str]]:
    public = {name: key.public for name, key in keys.items()}
    for number, line in enumerate(text.splitlines(), 1):
        found = checkpoint.read(line, public)
        if isinstance(found, Checkpoint):
            retired = keys[checkpoint.key_of(line)].retired_at
            if retired is not None and _instant(found.taken_at) > _instant(retired):
                found = f"signed after its key was retired ({retired})"
        yield number, found


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)
