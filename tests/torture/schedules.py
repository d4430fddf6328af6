"""Two schedulers, killed at random with SIGKILL, on a clock that jumps: every slot becomes exactly one message.

Run by `make torture-schedules`; the test suite runs a few rounds. The clock is injected: it lies in a table, and the
schedulers read it there.
"""

import asyncio
import contextlib
import os
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.postgres import open_pool
from sereno.subscriptions import schedule as rule
from sereno.subscriptions.models.source import TimeSource
from tests.driven_clock import DAY, Clock, timed
from tests.engines import Engines, databases, fresh, servers
from tests.integration.pipeline.conftest import Plane, open_plane

ROUNDS = 60
POINTS = ("listener.before_commit", "listener.after_commit")
PATIENCE_SECONDS = 120.0
_RULES: tuple[dict[str, Any], ...] = (
    {"every": "1m", "start": "2026-11-30T00:00:00Z"},
    {"every": "7m", "start": "2026-11-30T00:00:30Z"},
    {"cron": "*/5 * * * *", "zone": "Europe/Madrid"},
    {"cron": "0,30 * * * *", "zone": "America/New_York", "exdates": ["2026-11-29T20:30"]},
    {"rrule": "FREQ=MINUTELY;INTERVAL=3", "dtstart": "2026-11-30T00:00", "zone": "Asia/Tokyo"},
    {"rrule": "FREQ=DAILY;BYHOUR=0,1,2,3;BYMINUTE=0,20,40", "dtstart": "2026-11-30T00:00", "zone": "UTC"},
    {"at": "2026-11-30T00:10:00Z"},
)


@dataclass(slots=True)
class Schedulers:
    """Two of them, each started again after its death."""

    zygote: asyncio.subprocess.Process
    dice: random.Random
    running: list[int] = field(default_factory=list)

    async def start(self) -> None:
        """One more; half of them kill themselves at a point where it hurts, after some passages."""
        fault = f"{self.dice.choice(POINTS)}:{self.dice.randint(1, 6)}" if self.dice.randrange(2) else ""
        assert self.zygote.stdin is not None
        assert self.zygote.stdout is not None
        self.zygote.stdin.write(f"{fault}\n".encode())
        self.running.append(int(await self.zygote.stdout.readline()))

    async def kill_one(self) -> None:
        """End one, unless it has ended itself, and start another in its place."""
        victim = self.running.pop(self.dice.randrange(len(self.running)))
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        await self.start()

    async def revive(self) -> None:
        """Start another for each that has killed itself."""
        for child in self.running:
            try:
                os.kill(child, 0)
            except ProcessLookupError:
                self.running.remove(child)
                await self.start()
                return


@contextlib.asynccontextmanager
async def schedulers(dsn: str, dice: random.Random) -> AsyncIterator[Schedulers]:
    """Two running schedulers; none is left at the end."""
    zygote = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.torture.scheduler", dsn,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    found = Schedulers(zygote, dice)
    try:
        await found.start()
        await found.start()
        yield found
    finally:
        assert zygote.stdin is not None
        zygote.stdin.close()
        assert await zygote.wait() == 0


async def torture(plane: Plane, engines: Engines, rounds: int, seed: int) -> list[str]:
    """What was lost, doubled or not accounted for over so many kills and jumps of the clock."""
    dice, clock = random.Random(seed), Clock(plane)
    names = {f"s{number}": fields for number, fields in enumerate(_RULES)}
    await plane.in_force(*(timed(name, "all", **fields) for name, fields in names.items()))
    owner = await open_pool(engines.dsn, application_name="torture", max_size=1)
    await owner.execute("create table execution.torture_clock as select $1::timestamptz as now", DAY)
    await owner.execute("grant select on execution.torture_clock to sereno_execution")
    latest = now = DAY
    async with schedulers(engines.execution_dsn, dice) as running:
        for _ in range(rounds):
            jump = dice.choice((30, 60, 90, 300, 1800, -45, -600))
            now += timedelta(seconds=jump)
            latest = max(latest, now)
            await owner.execute("update execution.torture_clock set now = $1", now)
            await asyncio.sleep(dice.random() * 0.5)
            await running.kill_one()
        await owner.execute("update execution.torture_clock set now = $1", latest)
        await _settled(plane.pool, latest, running)
    await owner.close()
    await clock.decide()
    await clock.accounted()
    return await _compare(plane.pool, names, latest)


async def _settled(pool: AnyPool, latest: datetime, running: Schedulers) -> None:
    """Wait until nothing is due any more; a scheduler that killed itself meanwhile is started again."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await pool.fetchval(
            "select exists (select from execution.schedule)"
        ) or await pool.fetchval(
            "select exists (select from execution.schedule where next_due <= $1)", latest
        ):
            await asyncio.sleep(0.1)
            await running.revive()


async def _compare(pool: AnyPool, names: dict[str, dict[str, Any]], latest: datetime) -> list[str]:
    rows = await pool.fetch("select subscription, envelopes from mailbox.message")
    found = Counter(
        (row["subscription"], datetime.fromisoformat(one["time"])) for row in rows for one in row["envelopes"]
    )
    moment = timedelta(microseconds=1)
    expected = {
        (name, instant)
        for name, fields in names.items()
        for instant in rule.instants(TimeSource.model_validate(fields), DAY - moment, latest + moment)
    }
    wrong = [
        f"{name} {instant}: {found[name, instant]} messages"
        for name, instant in expected
        if found[name, instant] != 1
    ]
    wrong += [f"{name} {instant}: not a slot" for name, instant in found if (name, instant) not in expected]
    return sorted(wrong)


async def _run(engines: Engines, rounds: int, seed: int) -> list[str]:
    async with open_plane(engines) as plane:
        return await torture(plane, engines, rounds, seed)


def main(arguments: Sequence[str]) -> int:
    rounds = int(arguments[0]) if arguments else ROUNDS
    seed = random.randrange(10**9)
    sys.stdout.write(f"seed {seed}\n")
    with tempfile.TemporaryDirectory(prefix="sereno-torture-") as folder:
        Path(folder).chmod(0o755)
        with (
            servers(Path(folder)) as running,
            databases(running) as copies,
            fresh(running, copies) as engines,
        ):
            wrong = asyncio.run(_run(engines, rounds, seed))
    sys.stdout.write("\n".join(wrong[:50] or [f"{rounds} kills: every slot is exactly one message"]) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
