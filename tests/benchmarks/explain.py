"""How long an explanation takes over HTTP on a store with a million decisions, one kind of id after the other.

Run by `make bench-explain`: builds the store set-based (four decisions an event, one of which became a message that was
claimed and acknowledged), asks for 200 random ids of each kind after as many others, checks that each answer is complete,
and ends with 1 when a p99 is beyond the bound.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg
import httpx
import orjson
import uvloop
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sereno.deploy import database
from sereno.envelope.encode import flat
from sereno.envelope.identifiers import to_people
from sereno.execution_plane.guards.ledger import Ledger, Moment
from sereno.execution_plane.guards.passage import Passage
from sereno.execution_plane.guards.verdict import GUARD_NAMES
from sereno.execution_plane.manifest import store
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.postgres import open_pool
from sereno.subscriptions import snapshot
from sereno.subscriptions.snapshot import Manifest
from tests.benchmarks.server import new_database, prepare
from tests.engines import embedded_postgres
from tests.passages import NOON, TENANT, activation, declared, received, subscription

DECISIONS = 1_000_000
ASKED = 200
MOST_SECONDS = 0.047
_WAYS = 4
_AGENT = "support-triage"
_SUBSCRIPTIONS = 200
_SQL = queries.load("tests.benchmarks", "explain.sql")
_BODY = {"customer": "c-7", "priority": "high", "body": "It came late and I should like my money back. " * 8}


def passages() -> list[Passage]:
    """One decision of each kind that the store holds: delivered, in the cooldown, a duplicate, paused."""
    watch = subscription("watch-0", limits={"cooldown": {"every": "10m"}}, filters=_filters(0))
    ledger, moment = Ledger(), Moment(NOON)
    first, second = received(1, data=_BODY), received(2, data=_BODY)
    delivered = ledger.decide(activation(first, watch), watch, moment)
    cooling = ledger.decide(activation(second, watch), watch, moment)
    duplicate = ledger.decide(activation(first, watch), watch, moment)
    paused = subscription("watch-0", state="paused", filters=_filters(0))
    stopped = ledger.decide(activation(received(3, data=_BODY), paused), paused, moment)
    return [delivered, cooling, duplicate, stopped]


def _filters(number: int) -> list[dict[str, Any]]:
    cel = f"data.priority == 'high' && data.customer != 'c-{number}'"
    return [{"prefix": {"type": "com.zendesk.ticket"}}, {"cel": cel}]


async def build(dsn: str, decisions: int) -> Mapping[str, Sequence[str]]:
    """The store, and random ids of each kind in it."""
    await database.prepare(dsn)
    pool = await open_pool(dsn, application_name="bench", max_size=1)
    async with pool.acquire() as trusted, trusted.transaction():
        await _versions(trusted)
    await pool.close()
    connection = await asyncpg.connect(dsn)
    try:
        began = time.perf_counter()
        await connection.execute(_SQL["quick"])
        rest = await _set_aside(connection)
        await connection.execute(_SQL["numbered"].replace("{count}", str(decisions // _WAYS)))
        await _fill(connection)
        for index in rest:
            await connection.execute(index)
        await connection.execute("vacuum (analyze) execution.receipt, execution.verdict, mailbox.message")
        await connection.execute("analyze")
        total = await connection.fetchval("select count(*) from execution.verdict")
        _say(f"{total:,} decisions stored in {time.perf_counter() - began:.0f} s")
        return _questions(await connection.fetch(_SQL["sample"], 2 * ASKED))
    finally:
        await connection.close()


async def _set_aside(connection: Any) -> list[str]:
    """Leave the indexes out while rows are put in, as a load does; the statements that bring them back."""
    rows = await connection.fetch(_SQL["indexes"])
    for row in rows:
        await connection.execute(f"drop index {row['name']}")
    return [row["definition"] for row in rows]


async def _versions(connection: AnyConnection) -> None:
    """A tenant with its subscriptions, as a manifest brings them."""
    objects = [
        declared(f"watch-{number}", filters=_filters(number), limits={"cooldown": {"every": "10m"}})
        for number in range(_SUBSCRIPTIONS)
    ]
    entries = {snapshot.key(one): snapshot.entry(one) for one in objects}
    manifest = Manifest(
        tenant=TENANT,
        epoch=1,
        version=1,
        issued_at=NOON,
        valid_until=datetime(2099, 1, 1, tzinfo=UTC),
        root=snapshot.root(entries),
        entries=entries,
        key_id="bench",
    )
    blobs = [
        store.Blob(snapshot.key(one), snapshot.entry(one).sha256, snapshot.canonical(one), one)
        for one in objects
    ]
    signed = snapshot.sign(manifest, Ed25519PrivateKey.generate(), "bench")
    await store.put(connection, manifest, signed, blobs)


async def _fill(connection: Any) -> None:
    envelope = orjson.dumps(flat(received(1, data=_BODY))).decode()
    await connection.execute(_SQL["receipts"], TENANT, envelope)
    made = passages()
    columns = zip(*map(_columns, made), strict=True)
    await connection.execute(_SQL["verdicts"], TENANT, list(range(_WAYS)), *map(list, columns))
    await connection.execute(_SQL["messages"], TENANT, _AGENT, envelope)
    await connection.execute(_SQL["events"], TENANT, _AGENT)
    await connection.execute(_SQL["instants"], TENANT)


def _columns(passage: Passage) -> tuple[str, ...]:
    decided = passage.decided
    said = _json([verdict._asdict() for verdict in passage.verdicts])
    numbers = _json({**decided.numbers, **_differing(passage)})
    return decided.outcome, decided.guard, decided.reason, said, numbers


def _differing(passage: Passage) -> dict[str, str]:
    found = {"message": "{message}", "of": "{receipt}"}
    return {name: value for name, value in found.items() if passage.decided.numbers.get(name) is not None}


def _json(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_UTC_Z).decode()


def _questions(rows: Sequence[Any]) -> dict[str, Sequence[str]]:
    return {
        "rcp_": [to_people("rcp", row["id"]) for row in rows],
        "rcp_ --why-not": [f"{to_people('rcp', row['id'])}?why_not=true" for row in rows],
        "msg_": [to_people("msg", row["message"]) for row in rows],
        "run_": [to_people("run", row["message"]) for row in rows],
        "NAME@INSTANT": [quote(f"watch-{row['watch']}@{row['at']:%Y-%m-%dT%H:%M:%S.%fZ}") for row in rows],
        "event id": [f"ticket-{row['n']}" for row in rows],
    }


async def ask(url: str, questions: Mapping[str, Sequence[str]]) -> bool:
    """Ask everything one after the other; whether each kind keeps the bound."""
    kept = True
    async with httpx.AsyncClient(base_url=url) as http:
        for kind, paths in questions.items():
            seconds = [await _seconds(http, kind, path) for path in paths]
            measured = sorted(seconds[ASKED:])
            p99 = statistics.quantiles(measured, n=100, method="inclusive")[98]
            missed = "" if p99 <= MOST_SECONDS else "   MISSED"
            _say(
                f"{kind:16} p50 {1000 * statistics.median(measured):6.1f} ms   p99 {1000 * p99:6.1f} ms   must be at most"
                f" {1000 * MOST_SECONDS:.0f}   {len(measured)} asked{missed}"
            )
            kept = kept and not missed
    return kept


async def _seconds(http: httpx.AsyncClient, kind: str, path: str) -> float:
    began = time.perf_counter()
    answer = await http.get(f"/v1/explain/{path}")
    took = time.perf_counter() - began
    answer.raise_for_status()
    _check(kind, answer.json())
    return took


def _check(kind: str, told: Mapping[str, Any]) -> None:
    decisions = told["decisions"]
    whole = all(len(one["guards"]) == len(GUARD_NAMES) for one in decisions)
    if (
        not whole
        or len(decisions) != (1 if kind in ("msg_", "run_") else _WAYS)
        or not told["cause"]["digest"]
    ):
        raise AssertionError(f"{kind}: an answer that is not complete: {told['id']}")
    if kind.endswith("--why-not") and len(told["unmatched"]) != _SUBSCRIPTIONS - _WAYS:
        raise AssertionError(f"{kind}: {len(told['unmatched'])} pairs recomputed")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def run(folder: Path, decisions: int) -> int:
    with embedded_postgres(folder) as dsn:
        _say(uvloop.run(prepare(dsn)))
        own = uvloop.run(new_database(dsn, "explain"))
        questions = uvloop.run(build(own, decisions))
        environment = {**os.environ, "BENCH_DSN": own}
        command = [sys.executable, "-m", "tests.benchmarks.explain_server"]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
            try:
                url = (server.stdout.readline() if server.stdout else "").strip()
                kept = uvloop.run(ask(url, questions))
            finally:
                server.send_signal(signal.SIGTERM)
    return 0 if kept else 1


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--decisions", type=int, default=DECISIONS)
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="sereno-bench-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)
        return run(folder, given.decisions)


if __name__ == "__main__":
    sys.exit(main())
