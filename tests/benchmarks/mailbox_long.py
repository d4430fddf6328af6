"""What a large backlog and a long transaction do to the mailbox.

Run by `make bench-mailbox-long`, or a part of it with `--part`. Both compare two databases of one server, turn by turn:
one as it is always, the other with a backlog of a million messages, or with a REPEATABLE READ transaction that is held
open. Ends with 1 where a figure that must be reached is not.
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial

import asyncpg
import uvloop

from sereno.mailbox.engine import queries
from tests.benchmarks.contenders import AGENT, SUBSCRIPTIONS, TENANT, Ours
from tests.benchmarks.figures import Bound, ratios, spread
from tests.benchmarks.mailbox import conserved, seconds
from tests.benchmarks.server import durable_postgres, new_database, prepare

BATCH = 100
DEPOSIT = 500
JOBS = 2000
SMALL, LARGE = 1000, 1_000_000
ROUNDS = 15
PINNED_SECONDS = 180.0
BACKLOG = Bound("claim rate with a backlog of 1,000,000 against 1,000", 0.9, 1.0)
PINNED = Bound("drain under a pinned snapshot, against without", 0.75, 0.95)
PARTS = ("backlog", "pinned")
_SQL = queries.load("tests.benchmarks", "mailbox_long.sql")


async def backlog(dsn: str, rounds: int) -> bool:
    """Claim and acknowledge by 100 from a small and from a large mailbox in turns."""
    small, large = await _opened(dsn, "small"), await _opened(dsn, "large")
    rates: dict[str, list[float]] = {"small": [], "large": []}
    try:
        for ours, count in ((small, SMALL), (large, LARGE)):
            await ours.pool.execute(_SQL["fill"], count, TENANT, AGENT, SUBSCRIPTIONS, timeout=600)
            await ours.pool.execute("vacuum analyze", timeout=600)
        await small.pool.execute("checkpoint", timeout=600)
        for _ in range(rounds):
            for name, ours in (("small", small), ("large", large)):
                rates[name].append(SMALL / await seconds(partial(claimed, ours, SMALL)))
                await ours.deposit(ours.make(SMALL), DEPOSIT)
    finally:
        await small.close()
        await large.close()
    _show("backlog 1,000", rates["small"])
    _show("backlog 1,000,000", rates["large"])
    return BACKLOG.show(ratios(rates["large"], rates["small"]))


async def claimed(ours: Ours, count: int) -> None:
    """Claim and acknowledge so many of a mailbox that holds more."""
    done = sum(await asyncio.gather(*(ours.loop(count // 2) for _ in range(2))))
    assert done == count, f"{done} of {count}"


async def pinned(dsn: str, duration: float) -> bool:
    """Deposit and drain in two databases in turns, while a snapshot is held open in one of them."""
    free, held = await _opened(dsn, "free"), await _opened(dsn, "held")
    rates: dict[str, list[float]] = {"free": [], "held": []}
    # Not of the pool: its sessions may not idle in a transaction for so long.
    holder = await asyncpg.connect(dsn.rsplit("/", 1)[0] + "/held")
    try:
        for ours in (free, held):
            await _round(ours)
        async with holder.transaction(isolation="repeatable_read"):
            await holder.fetchval("select count(*) from mailbox.work")
            began = time.monotonic()
            while time.monotonic() - began < duration:
                for name, ours in (("free", free), ("held", held)):
                    rates[name].append(await _round(ours))
            bloat = {name: await one.pool.fetchrow(_SQL["bloat"]) for name, one in _named(free, held)}
        for _, ours in _named(free, held):
            await conserved(ours, (len(rates["free"]) + 1) * JOBS)
    finally:
        await holder.close()
        await free.close()
        await held.close()
    for name, row in bloat.items():
        assert row is not None
        _show({"free": "without", "held": f"held for {duration:.0f} s"}[name], rates[name])
        sys.stdout.write(
            f"{'':18} mailbox.work: {row['dead']} dead tuples, {row['bytes'] / 1e6:.1f} MB with its indexes\n"
        )
    _show("the last third", rates["held"][-len(rates["held"]) // 3 :])
    return PINNED.show(ratios(rates["held"], rates["free"]))


def _named(free: Ours, held: Ours) -> tuple[tuple[str, Ours], tuple[str, Ours]]:
    return ("free", free), ("held", held)


async def _round(ours: Ours) -> float:
    await ours.deposit(ours.make(JOBS), DEPOSIT)
    return JOBS / await seconds(lambda: ours.drain(JOBS))


async def _opened(dsn: str, name: str) -> Ours:
    ours = Ours(BATCH)
    await ours.open(await new_database(dsn, name))
    return ours


def _show(what: str, rates: list[float]) -> None:
    sys.stdout.write(f"{what:18} {statistics.median(rates):8.0f}/s {spread(rates):>15}\n")


async def run(dsn: str, parts: list[str], rounds: int, duration: float) -> int:
    """Measure these parts."""
    sys.stdout.write(f"{await prepare(dsn)}\n\n")
    measures: dict[str, Callable[[], Awaitable[bool]]] = {
        "backlog": lambda: backlog(dsn, rounds),
        "pinned": lambda: pinned(dsn, duration),
    }
    reached = [await measures[part]() for part in parts]
    return 0 if all(reached) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=PINNED_SECONDS, help="how long the snapshot is held")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part")
    arguments = parser.parse_args()
    with durable_postgres() as dsn, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        parts = arguments.part or list(PARTS)
        return runner.run(run(dsn, parts, arguments.rounds, arguments.seconds))


if __name__ == "__main__":
    sys.exit(main())
