"""The mailbox against its peers and against the least that SQL can do: one run, one server, fsync on.

Run by `make bench-mailbox`, or a part of it with `--part`. The contenders take turns, round after round, so that
what else the machine does falls on all of them; figures are medians with their spread, and ratios are taken round
by round. Ends with 1 where a figure that must be reached is not.
"""

import argparse
import asyncio
import os
import platform
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import uvloop

from tests.benchmarks import latency, wal
from tests.benchmarks.contenders import Contender, Floor, Ours
from tests.benchmarks.figures import Bound, ratios, spread
from tests.benchmarks.server import durable_postgres, new_database, prepare

DEPOSIT = 500
BY_100 = {"sereno/100": 6000, "pgqueuer/100": 4000, "floor/100": 8000}
BY_10 = {"sereno/10": 3000, "pgqueuer/10": 2000}
OTHERS = {"sereno/100": 6000, "procrastinate": 200, "awa-pg": 1000}
RATIOS: Mapping[str, tuple[tuple[str, str, str, Bound], ...]] = {
    "batch-100": (
        ("drain", "sereno/100", "pgqueuer/100", Bound("drain by 100, against PgQueuer by 100", 1.5, 2.5)),
        ("drain", "sereno/100", "floor/100", Bound("drain by 100, of the SQL floor", 0.5, 0.7)),
        (
            "deposit",
            "sereno/100",
            "pgqueuer/100",
            Bound("deposit by 500, against PgQueuer's enqueue by 500", 0.6, 1.0),
        ),
    ),
    "batch-10": (
        ("drain", "sereno/10", "pgqueuer/10", Bound("drain by 10, against PgQueuer by 10", 3.0, 5.0)),
    ),
    "others": (
        ("drain", "sereno/100", "procrastinate", Bound("drain against procrastinate", 20.0, 50.0)),
        ("drain", "sereno/100", "awa-pg", Bound("drain against awa-pg", 1.5, 3.0)),
    ),
}


@dataclass(slots=True)
class Measured:
    """What one contender did in each round, in jobs a second."""

    drain: list[float] = field(default_factory=list)
    deposit: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def batch_100() -> tuple[list[Contender], Mapping[str, int]]:
    """Ours, PgQueuer and the floor by 100."""
    from tests.benchmarks.peers import PgQueuer

    return [Ours(100), PgQueuer(100), Floor(100)], BY_100


def batch_10() -> tuple[list[Contender], Mapping[str, int]]:
    """Ours and PgQueuer by 10, each with five claimers, as PgQueuer's own benchmark has it."""
    from tests.benchmarks.peers import PgQueuer

    return [Ours(10, loops=5), PgQueuer(10, workers=5)], BY_10


def others() -> tuple[list[Contender], Mapping[str, int]]:
    """Ours, procrastinate and awa-pg."""
    from tests.benchmarks.peers import Awa, Procrastinate

    return [Ours(100), Procrastinate(), Awa()], OTHERS


TURNS = {"batch-100": batch_100, "batch-10": batch_10, "others": others}
PARTS = (*TURNS, "wal", "latency")


async def take_turns(dsn: str, part: str, rounds: int) -> bool:
    """Measure one group of contenders and show them; whether all that must be reached is."""
    entered, jobs = TURNS[part]()
    results = {contender.name: Measured() for contender in entered}
    try:
        for number, contender in enumerate(entered):
            await contender.open(await new_database(dsn, f"{part.replace('-', '_')}_{number}"))
        for _ in range(rounds):
            for contender in entered:
                await _round(contender, jobs[contender.name], results[contender.name])
        for contender in entered:
            _show(contender, results[contender.name])
            if isinstance(contender, Ours):
                await conserved(contender, rounds * jobs[contender.name])
    finally:
        for contender in entered:
            await contender.close()
    shown = [
        bound.show(ratios(getattr(results[ours], what), getattr(results[other], what)))
        for what, ours, other, bound in RATIOS[part]
    ]
    return all(shown)


async def _round(contender: Contender, jobs: int, into: Measured) -> None:
    made = contender.make(jobs)
    try:
        into.deposit.append(jobs / await seconds(lambda: contender.deposit(made, DEPOSIT)))
        into.drain.append(jobs / await seconds(lambda: contender.drain(jobs)))
    except Exception as fault:
        if isinstance(contender, Ours):
            raise
        # A peer that fails is told, not dropped.
        into.faults.append(f"{type(fault).__name__}: {fault}"[:200])


async def conserved(ours: Ours, count: int) -> None:
    """What was deposited was acknowledged, and nothing else; raises AssertionError."""
    deposits = await ours.pool.fetchval("select count(*) from mailbox.message")
    acks = await ours.pool.fetchval("select count(*) from mailbox.event where kind = 'acked'")
    assert deposits == acks == count > 0, f"{deposits} deposits, {acks} acks, {count} made"


async def seconds(work: Callable[[], Awaitable[None]]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


def _show(contender: Contender, got: Measured) -> None:
    if got.drain:
        sys.stdout.write(
            f"{contender.name:15} drain {statistics.median(got.drain):8.0f}/s {spread(got.drain):>15}   "
            f"deposit {statistics.median(got.deposit):8.0f}/s {spread(got.deposit):>15}   {contender.setting}\n"
        )
    for fault in got.faults:
        sys.stdout.write(f"{contender.name:15} FAILED {fault}\n")
    sys.stdout.flush()


async def run(dsn: str, parts: list[str], rounds: int) -> int:
    """Measure these parts."""
    server = await prepare(dsn)
    sys.stdout.write(
        f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, {server}\n\n"
    )
    missed = False
    for part in parts:
        if part == "wal":
            reached = await wal.measure(dsn)
        elif part == "latency":
            reached = await latency.measure(dsn)
        else:
            reached = await take_turns(dsn, part, rounds)
        missed = missed or not reached
        sys.stdout.write("\n")
    return 1 if missed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part; may be given again")
    arguments = parser.parse_args()
    with durable_postgres() as dsn, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run(dsn, arguments.part or list(PARTS), arguments.rounds))


if __name__ == "__main__":
    sys.exit(main())
