"""The mailbox against its peers and against the least that SQL can do: one run, one server, fsync on.

Run by `make bench-mailbox`. The contenders take turns, round after round, so that what else the machine does
falls on all of them; figures are medians with their spread, and ratios are taken round by round.
"""

import argparse
import asyncio
import os
import platform
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import asyncpg
import uvloop

from tests.benchmarks.contenders import Contender, Floor, Ours
from tests.benchmarks.server import durable_postgres, new_database, prepare

DEPOSIT = 500
JOBS = {
    "floor/100": 6000,
    "sereno/100": 6000,
    "pgqueuer/100": 4000,
    "floor/10": 2000,
    "sereno/10": 2000,
    "pgqueuer/10": 1000,
    "procrastinate": 300,
    "awa-pg": 2000,
}
RATIOS = (
    ("drain, batch 100, against PgQueuer batch 100", "drain", "sereno/100", "pgqueuer/100", 1.5),
    ("drain, batch 10, against PgQueuer batch 10", "drain", "sereno/10", "pgqueuer/10", 3.0),
    ("drain against procrastinate", "drain", "sereno/100", "procrastinate", 20.0),
    ("drain against awa-pg", "drain", "sereno/100", "awa-pg", 1.5),
    ("deposit by 500 against PgQueuer's enqueue by 500", "deposit", "sereno/100", "pgqueuer/100", 0.6),
    ("drain, batch 100, of the SQL floor", "drain", "sereno/100", "floor/100", 0.5),
)


@dataclass(slots=True)
class Measured:
    """What one contender did in each round: jobs a second, and bytes of WAL a job."""

    drain: list[float] = field(default_factory=list)
    deposit: list[float] = field(default_factory=list)
    wal: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def contenders() -> list[Contender]:
    """All of them, those first between which ratios are asked for."""
    from tests.benchmarks.peers import Awa, PgQueuer, Procrastinate

    return [
        Ours(100),
        PgQueuer(100),
        Floor(100),
        Ours(10),
        PgQueuer(10),
        Floor(10),
        Procrastinate(),
        Awa(),
    ]


async def run(dsn: str, rounds: int) -> int:
    """Measure and show; 1 where a figure that must be reached is not."""
    server = await prepare(dsn)
    entered = contenders()
    for number, contender in enumerate(entered):
        await contender.open(await new_database(dsn, f"bench_{number}"))
    watch = await asyncpg.connect(dsn)
    results = {contender.name: Measured() for contender in entered}
    try:
        for _ in range(rounds):
            for contender in entered:
                await _round(watch, contender, results[contender.name])
    finally:
        await watch.close()
        for contender in entered:
            await contender.close()
    return show(server, entered, results)


async def _round(watch: "asyncpg.Connection[asyncpg.Record]", contender: Contender, into: Measured) -> None:
    jobs = JOBS[contender.name]
    before = await _wal(watch)
    try:
        into.deposit.append(jobs / await _seconds(lambda: contender.deposit(jobs, DEPOSIT)))
        into.drain.append(jobs / await _seconds(lambda: contender.drain(jobs)))
    except Exception as fault:  # noqa: BLE001 - a peer that fails is told, not dropped
        into.faults.append(f"{type(fault).__name__}: {fault}"[:200])
        return
    into.wal.append((await _wal(watch) - before) / jobs)


async def _seconds(work: Callable[[], Awaitable[None]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def _wal(watch: "asyncpg.Connection[asyncpg.Record]") -> float:
    """Bytes of WAL so far, less the images of whole pages that only a checkpoint makes necessary."""
    # The statistics of a backend reach the view when it is idle for a second, so the position is asked.
    position = await watch.fetchval("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
    return float(position)


def show(server: str, entered: Sequence[Contender], results: dict[str, Measured]) -> int:
    """Print the figures, then the ratios with what they must be."""
    write = sys.stdout.write
    write(f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, {server}\n\n")
    write(f"{'contender':16}{'drain/s':>9} {'spread':>15}{'deposit/s':>11} {'spread':>15}{'WAL/job':>9}\n")
    for contender in entered:
        got = results[contender.name]
        if got.drain:
            write(
                f"{contender.name:16}{statistics.median(got.drain):9.0f} {_spread(got.drain):>15}"
                f"{statistics.median(got.deposit):11.0f} {_spread(got.deposit):>15}{min(got.wal):9.0f}\n"
            )
        write(f"{'':16}  {contender.setting}\n")
        for fault in got.faults:
            write(f"{'':16}  FAILED {fault}\n")
    write("\n")
    missed = [_show_ratio(results, ratio) for ratio in RATIOS]
    bytes_a_job = min(results["sereno/100"].wal, default=0.0)
    write(f"{'WAL bytes a message, batch 100':52}{bytes_a_job:8.0f}   must be at most 2000\n")
    return 1 if any(missed) or bytes_a_job > 2000 else 0


def _show_ratio(results: dict[str, Measured], ratio: tuple[str, str, str, str, float]) -> bool:
    label, what, ours, other, least = ratio
    pairs = zip(getattr(results[ours], what), getattr(results[other], what), strict=False)
    ratios = [mine / theirs for mine, theirs in pairs]
    if not ratios:
        sys.stdout.write(f"{label:52}       -   must be at least {least}: nothing to compare\n")
        return False
    median = statistics.median(ratios)
    sys.stdout.write(f"{label:52}{median:8.2f}   must be at least {least}   ({_spread(ratios, 2)})\n")
    return bool(median < least)


def _spread(values: Sequence[float], digits: int = 0) -> str:
    return f"{min(values):.{digits}f}..{max(values):.{digits}f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with durable_postgres() as dsn, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run(dsn, rounds))


if __name__ == "__main__":
    sys.exit(main())
