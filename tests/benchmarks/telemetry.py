"""What traces and metrics cost: guarded deposits and drain per second with them on, against the same with them off.

Run by `make bench-telemetry`. Two processes, each with a database of its own on one server with fsync, take turns: one sends its spans
to a receiver and keeps its metrics, the other does neither. A round is 6,000 events through all seven guards, then claim and
acknowledgement of what they became. Events begin their traces as they would at the gateway: a hundred a second are kept. Fails when
either is slower by more than a twentieth, at the median.
"""

import argparse
import asyncio
import contextlib
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import uvloop

from sereno.envelope.encode import dumps_batch
from sereno.mailbox.engine import telemetry, tracing
from sereno.mailbox.lease_items import AckItem
from sereno.mailbox.verbs import Mailbox
from tests import engines as running_engines
from tests.benchmarks import guards
from tests.benchmarks.figures import Bound, ratios
from tests.engines import Engines
from tests.integration.pipeline.conftest import Plane, open_plane
from tests.passages import TENANT
from tests.waiting import until

ROUNDS, CLAIM, AGENT = 9, 100, "support-triage"
SIDES = ("off", "on")
WORK = ("guarded", "drain")


async def publish(plane: Plane) -> None:
    """Into the stream, each event with the trace that the gateway would begin for it."""
    made = [
        replace(one, traceparent=tracing.begin())
        for one in guards.events(guards.EVENTS, guards.SUBSCRIPTIONS)
    ]
    for start in range(0, len(made), guards.BATCH):
        await plane.publish_bytes(dumps_batch(made[start : start + guards.BATCH]))


async def decide(plane: Plane) -> float:
    """Seconds until every published event is decided, by a pipeline in this process."""
    before, stop = await plane.count("execution.verdict"), asyncio.Event()
    began = time.perf_counter()
    running = asyncio.create_task(plane.consumer().run(stop))

    async def decided() -> bool:
        return await plane.count("execution.verdict") >= before + guards.EVENTS

    await until(decided)
    took = time.perf_counter() - began
    stop.set()
    await running
    return took


async def drain(mailbox: Mailbox) -> float:
    """Messages claimed and acknowledged per second, until there are none."""
    began, done = time.perf_counter(), 0
    claimed = await mailbox.claim(TENANT, AGENT, max=CLAIM, incarnation="bench")
    while claimed:
        items = [AckItem(one.lease.token) for one in claimed]
        answers, claimed = await mailbox.ack_and_claim(items, TENANT, AGENT, max=CLAIM, incarnation="bench")
        assert all(answer.status == "ok" for answer in answers)
        done += len(answers)
    return done / (time.perf_counter() - began)


async def side(engines: Engines) -> None:
    """One of the two processes: a round for each line on stdin, its figures as a line on stdout."""
    async with open_plane(engines) as plane:
        await plane.in_force(*guards.objects(guards.SUBSCRIPTIONS))
        mailbox = Mailbox(plane.pool)
        while await asyncio.to_thread(sys.stdin.readline):
            await publish(plane)
            guarded = guards.EVENTS / await decide(plane)
            sys.stdout.write(json.dumps({"guarded": guarded, "drain": await drain(mailbox)}) + "\n")
            sys.stdout.flush()


def run_side(name: str) -> None:
    engines = Engines(**json.loads(sys.stdin.readline()))
    if name == "on":
        telemetry.setup("bench")
        assert tracing.active()
    gc.set_threshold(20_000, 20, 20)
    uvloop.run(side(engines))
    tracing.stop()


@contextlib.contextmanager
def receiver() -> Iterator[tuple[str, list[int]]]:
    """A receiver of spans that throws them away; its address, and the size of each body."""
    sizes: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sizes.append(len(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", sizes
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def started(name: str, engines: Engines, variables: Mapping[str, str]) -> Iterator["subprocess.Popen[str]"]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.telemetry", "--side", name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**kept, **(variables if name == "on" else {})},
    ) as process:
        tell(process, json.dumps(asdict(engines)))
        yield process
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def tell(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def measure(
    processes: Mapping[str, "subprocess.Popen[str]"], rounds: int
) -> dict[str, dict[str, list[float]]]:
    """The figures of each side by work; who goes first changes from round to round, and the first round warms up."""
    figures: dict[str, dict[str, list[float]]] = {name: {work: [] for work in WORK} for name in SIDES}
    for number in range(rounds + 1):
        for name in SIDES if number % 2 else SIDES[::-1]:
            tell(processes[name], "round")
            stdout = processes[name].stdout
            assert stdout is not None
            got: dict[str, Any] = json.loads(stdout.readline())
            for work in WORK if number else ():
                figures[name][work].append(got[work])
    return figures


def show(figures: Mapping[str, Mapping[str, Sequence[float]]], spans: Sequence[int]) -> int:
    for work in WORK:
        said = "   ".join(f"{name} {statistics.median(figures[name][work]):8.0f}/s" for name in SIDES)
        sys.stdout.write(f"{work:8} {said}\n")
    sys.stdout.write(f"spans    {sum(spans) / 1000:.0f} kB in {len(spans)} requests\n")
    reached = [
        Bound(f"{work} with traces and metrics on / off", 0.95, 1.0, digits=3).show(
            ratios(figures["on"][work], figures["off"][work])
        )
        for work in WORK
    ]
    return 0 if all(reached) and spans else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--side", choices=SIDES)
    given = parser.parse_args()
    if given.side:
        run_side(given.side)
        return 0
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        postgres = stack.enter_context(running_engines.embedded_postgres(folder / "postgres", durable=True))
        stack.enter_context(guards.durable(postgres))
        servers = stack.enter_context(running_engines.servers(folder))
        copies = stack.enter_context(running_engines.databases(servers))
        url, spans = stack.enter_context(receiver())
        processes = {
            name: stack.enter_context(
                started(
                    name,
                    stack.enter_context(running_engines.fresh(servers, copies)),
                    {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_BSP_SCHEDULE_DELAY": "1000"},
                )
            )
            for name in SIDES
        }
        figures = measure(processes, given.rounds)
        for process in processes.values():
            assert process.stdin is not None
            process.stdin.close()
            process.wait()
        return show(figures, spans)


if __name__ == "__main__":
    sys.exit(main())
