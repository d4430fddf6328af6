"""What the due index costs: per due row among few and among many schedules, and how late it is under load.

Run by `make bench-schedules`; servers of its own with fsync on. With `--folder` what `prepare` filled is used again,
so that `cost` and `load` take no longer than what they measure.
"""

import argparse
import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import uvloop

from sereno.deploy import database, nats_identities
from sereno.execution_plane.listeners.listener import listen
from sereno.execution_plane.listeners.time_listener import TimeListener
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import bus
from sereno.mailbox.engine.outbox import Relay
from sereno.mailbox.engine.postgres import open_pool
from tests.benchmarks.server import new_database, prepare
from tests.engines import embedded_nats, embedded_postgres

FEW, MANY = 1_000, 1_000_000
DUE = 1_000
ROUNDS = 20
PER_SECOND, SECONDS = 1_000, 60
TENANTS = 20
MOST_TIMES, MOST_LATE = 1.2, 1.0
SECOND = timedelta(seconds=1)
_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_COLUMNS = (
    "tenant_id", "schedule", "subscription", "subscription_version", "spec", "misfire", "next_due", "rule",
    "object_sha256", "counted_from",
)  # fmt: skip
_MAKE_DUE = """
update execution.schedule set next_due = $1
where subscription = any (select 'due-' || n from generate_series(0, $2 - 1) as n)
"""
_RESET = """
update execution.schedule s set next_due = $1::timestamptz + n / $3 * interval '1 second'
from generate_series(0, $2 - 1) as n where s.subscription = 'due-' || n
"""
_PASSWORD = "for-benchmarks-only"
BEGIN = datetime(2026, 12, 1, 10, tzinfo=UTC)
"""The moment of the schedules' clock at which the load begins: it is driven, so that it can be filled before."""
_FILL = """
insert into execution.schedule (tenant_id, schedule, subscription, subscription_version, spec, misfire, next_due,
    rule, object_sha256, counted_from)
select 't' || n % $3, gen_random_uuid(), 'idle-' || n, 1, '{"every": "1h"}'::jsonb, 'latest',
    $2::timestamptz + random() * interval '1 day', decode(md5(n::text), 'hex'), '', $2::timestamptz
from generate_series(1, $1) as n
"""


def rule(number: int, due: datetime) -> dict[str, object]:
    """One of four kinds of rule that names this second, mostly unlike any other."""
    day = date(2015, 1, 1) + timedelta(days=number % 3000)
    if number % 4 == 0:
        return {"every": "1000s", "start": f"{due - 1000 * SECOND * (1 + number % 5000):%Y-%m-%dT%H:%M:%SZ}"}
    if number % 4 == 1:
        local = due.astimezone(ZoneInfo("Europe/Madrid"))
        return {"rrule": "FREQ=DAILY", "dtstart": f"{day:%Y-%m-%d}T{local:%H:%M:%S}", "zone": "Europe/Madrid"}
    if number % 4 == 2:
        local = due.astimezone(ZoneInfo("America/New_York"))
        return {"cron": f"{local.second} {local.minute} {local.hour} * * *", "zone": "America/New_York"}
    local = due.astimezone(ZoneInfo("Asia/Tokyo"))
    weekday = _DAYS[local.weekday()]
    return {
        "rrule": f"FREQ=WEEKLY;BYDAY={weekday}",
        "dtstart": f"{day:%Y-%m-%d}T{local:%H:%M:%S}",
        "zone": "Asia/Tokyo",
    }


def rows(count: int, first: datetime, per_second: int) -> Iterator[tuple[Any, ...]]:
    for number in range(count):
        due = first + (number // per_second) * SECOND
        spec = rule(number, due)
        tenant, name = f"t{number % TENANTS}", f"due-{number}"
        yield (tenant, uuid4(), name, 1, spec, "latest", due, os.urandom(16), "", first)


async def fill(pool: AnyPool, total: int, due: int, first: datetime, per_second: int) -> None:
    """`due` schedules that are due one after the other, and as many others as make up the total."""
    async with pool.acquire() as connection:
        await connection.execute("truncate execution.schedule, execution.due_instant, execution.outbox")
        await connection.execute("set statement_timeout = 0")
        await connection.execute(_FILL, total - due, first + timedelta(hours=1), TENANTS, timeout=600)
        statement = (
            f"insert into execution.schedule ({', '.join(_COLUMNS)}) "
            f"values ({', '.join(f'${n + 1}' for n in range(len(_COLUMNS)))})"
        )
        await connection.executemany(statement, list(rows(due, first, per_second)), timeout=600)
        await connection.execute("set statement_timeout = '30s'")
    async with pool.acquire() as connection:
        await connection.execute("vacuum analyze execution.schedule", timeout=600)


async def cost(pool: AnyPool, total: int) -> list[float]:
    """Seconds per due row, round by round: claim, advance, record, hand over, commit."""
    now = BEGIN
    if total == FEW:
        await fill(pool, FEW, DUE, BEGIN - SECOND, DUE)
    listener = TimeListener(pool, os.urandom)
    measured = []
    for turn in range(ROUNDS + 2):
        await pool.execute(_MAKE_DUE, now, DUE)
        await pool.execute("truncate execution.due_instant")
        began = time.perf_counter()
        handled = 0
        while count := await listener.observe(now):
            handled += count
        if turn > 1:
            measured.append((time.perf_counter() - began) / handled)
        assert handled == DUE
        await pool.execute("vacuum execution.schedule", timeout=120)
    return measured


@dataclass(frozen=True, slots=True)
class Load:
    """How late the instants were written down, in seconds, and how many signals reached the ingress in time."""

    lateness: list[float]
    expected: int
    published: int
    processor_seconds: float

    def quantile(self, share: float) -> float:
        ordered = sorted(self.lateness)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


async def load(pool: AnyPool, nats: str, seed: str | None, total: int, seconds: int) -> Load:
    """So many seconds of so many due instants a second among `total` schedules, with the relay to the ingress."""
    due = PER_SECOND * seconds
    await pool.execute("truncate execution.due_instant, execution.outbox")
    await pool.execute(_RESET, BEGIN, due, PER_SECOND)
    start = datetime.now(UTC).replace(microsecond=0) + 3 * SECOND
    client = await bus.connect(nats, name="listeners", seed=seed)
    stop = asyncio.Event()
    spent = time.process_time()

    async def clock() -> datetime:
        moment: datetime = await pool.fetchval("select clock_timestamp()")
        return BEGIN + (moment - start)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(listen((TimeListener(pool, os.urandom),), clock, stop))
        tasks.create_task(Relay(pool, client, "execution").run(stop))
        end = start + seconds * SECOND + 3 * SECOND
        await asyncio.sleep((end - datetime.now(UTC)).total_seconds())
        stop.set()
    await client.close()
    shift = BEGIN - start
    found = await pool.fetch(
        "select extract(epoch from recorded_at + $1 - instant)::float8 as late from execution.due_instant",
        shift,
    )
    left = await pool.fetchval("select count(*) from execution.outbox where published_at is null")
    return Load([row["late"] for row in found], due, left, time.process_time() - spent)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


async def compare(small: AnyPool, large: AnyPool, many: int) -> bool:
    few = await cost(small, FEW)
    much = await cost(large, many)
    times = statistics.median(much) / statistics.median(few)
    for total, figures in ((FEW, few), (many, much)):
        say(
            f"cost  {1e6 * statistics.median(figures):7.0f} us a due row among {total:,} schedules "
            f"(min {1e6 * min(figures):.0f}, max {1e6 * max(figures):.0f}, {len(figures)} rounds of {DUE})"
        )
    say(f"cost  {times:7.2f} times (at most {MOST_TIMES})")
    return times <= MOST_TIMES


async def sustain(pool: AnyPool, nats: str, seed: str | None, many: int, seconds: int) -> bool:
    found = await load(pool, nats, seed, many, seconds)
    p50, p99 = found.quantile(0.5), found.quantile(0.99)
    say(
        f"load  {len(found.lateness):,} of {found.expected:,} instants in {seconds} s among {many:,} schedules; "
        f"late by {p50:.2f} s (p50), {p99:.2f} s (p99), {max(found.lateness):.2f} s (max); "
        f"{found.published} rows wait for the ingress; {found.processor_seconds:.0f} s of processor here"
    )
    return len(found.lateness) == found.expected and p99 <= MOST_LATE


async def run(what: str, many: int, seconds: int, folder: Path) -> int:
    seeds = {name: nats_identities.new_seed() for name in nats_identities.PERMISSIONS}
    with embedded_postgres(folder, durable=True, password=_PASSWORD) as dsn:
        say(await prepare(dsn))
        held = True
        if what in ("all", "cost"):
            few = await database_of(dsn, "few", 0)
            held = await compare(few, await database_of(dsn, "many", many), many)
        if what in ("all", "load"):
            with embedded_nats(folder, seeds, durable=True) as nats:
                operator = await bus.connect(nats, name="bench", seed=seeds[nats_identities.OPERATOR])
                await bus.ensure_streams(operator.jetstream())
                await operator.close()
                pool = await database_of(dsn, "many", many)
                held = await sustain(pool, nats, seeds["listeners"], many, seconds) and held
        if what == "prepare":
            await database_of(dsn, "many", many)
    return 0 if held else 1


async def database_of(dsn: str, name: str, total: int) -> AnyPool:
    """A database with so many schedules, made and filled unless it is there."""
    own = await new_database(dsn, name)
    await database.prepare(own)
    pool = await open_pool(own, application_name="bench", max_size=4)
    if await pool.fetchval("select true from execution.schedule limit 1"):
        return pool
    if total:
        began = time.perf_counter()
        await fill(pool, total, PER_SECOND * SECONDS, BEGIN, PER_SECOND)
        say(f"filled with {total:,} schedules in {time.perf_counter() - began:.0f} s")
    return pool


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("what", nargs="?", default="all", choices=("all", "prepare", "cost", "load"))
    options.add_argument("--schedules", type=int, default=MANY)
    options.add_argument("--seconds", type=int, default=SECONDS)
    options.add_argument("--folder", type=Path)
    given = options.parse_args()
    random.seed(1)
    with tempfile.TemporaryDirectory(prefix="sereno-bench-", ignore_cleanup_errors=True) as temporary:
        folder: Path = given.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
        return uvloop.run(run(given.what, given.schedules, given.seconds, folder))


if __name__ == "__main__":
    sys.exit(main())
