"""Webhooks accepted per second: GitHub's signature over 2 KB, on disk before the 202, against the same server's empty route.

Run by `make bench-webhooks`. wrk sends `BODIES` different signed bodies over 64 connections to a whole installation whose
pipeline stands still, so that everything accepted stays in the log. It ends with 1 when a figure is missed, or when the log
holds fewer distinct receipts than there were 202s. (It may hold a few more: who hung up at the end got no answer.)
"""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from sereno.envelope.decode import loads_batch
from sereno.mailbox.engine import bus
from tests.benchmarks import wrk
from tests.benchmarks.wrk import Figures, Wrk
from tests.e2e.running import DOCUMENTS, Running, endpoint_url, github_headers, pull_request, running

BODIES = 20_000
SIZE = 2048
CONNECTIONS = 64
WARM_UP_SECONDS = 2
SECONDS = 6
FLOOR = 0.28
LONGEST_SECONDS = 0.1
_PADDING = "Replaces the rounding of prices, line by line. " * 50


def main() -> int:
    with (
        tempfile.TemporaryDirectory(prefix="sereno-bench-") as folder,
        running(Path(folder) / "data") as sereno,
        empty_route() as empty,
    ):
        url = endpoint_url(sereno.apply(DOCUMENTS))
        os.kill(sereno.pids["pipeline"], signal.SIGSTOP)
        load = wrk.find(_subfolder(folder), Path(folder) / "requests")
        wrk.write(load.requests, [request(url, number) for number in range(BODIES)])
        bare, webhooks = measure(load, empty, url)
        accepted, receipts = counted(sereno), asyncio.run(distinct_receipts(sereno))
        os.kill(sereno.pids["pipeline"], signal.SIGCONT)
    ratio = webhooks.rate / bare.rate
    sys.stdout.write(
        f"webhooks     {webhooks.rate:8.0f} /s   verified and on disk, {SIZE} bytes, {BODIES} signed bodies, "
        f"{CONNECTIONS} connections, 202 after {1000 * webhooks.p99:.0f} ms (p99)\n"
        f"empty route  {bare.rate:8.0f} /s   the same requests to the same server, answered at once\n"
        f"ratio        {ratio:8.2f}      floor {FLOOR}\n"
        f"log          {receipts:8d}      distinct receipts for {accepted} answers of 202\n"
    )
    faults = list(missed(ratio, webhooks, accepted, receipts))
    sys.stderr.writelines(f"missed: {fault}\n" for fault in faults)
    return 1 if faults else 0


def _subfolder(folder: str) -> Path:
    made = Path(folder) / "wrk"
    made.mkdir()
    return made


def measure(load: Wrk, empty: str, url: str) -> tuple[Figures, Figures]:
    """The empty route and the webhooks, in turns, each as the better of its two runs after a warm-up."""
    for place in (empty, url):
        load.run(place, seconds=WARM_UP_SECONDS, connections=CONNECTIONS)
    runs: dict[str, list[Figures]] = {empty: [], url: []}
    for turn in range(2):
        for place, found in runs.items():
            first = (turn * BODIES) // 2
            found.append(load.run(place, seconds=SECONDS, connections=CONNECTIONS, first=first))
    bare, webhooks = (max(found, key=lambda each: each.rate) for found in runs.values())
    return bare, webhooks


def missed(ratio: float, webhooks: Figures, accepted: int, receipts: int) -> Iterator[str]:
    """What was not reached, as sentences."""
    if ratio < FLOOR:
        yield f"{ratio:.2f} of the empty route, not {FLOOR}"
    if webhooks.p99 > LONGEST_SECONDS:
        yield f"202 after {1000 * webhooks.p99:.0f} ms (p99), not within {1000 * LONGEST_SECONDS:.0f} ms"
    if webhooks.refused or webhooks.broken:
        yield f"{webhooks.refused} webhooks were refused, {webhooks.broken} met a broken connection"
    if receipts < accepted or accepted < webhooks.accepted:
        yield f"the log holds {receipts} distinct receipts for {accepted} answers of 202"


def request(url: str, number: int) -> bytes:
    """A signed pull request of `SIZE` bytes as it goes over the wire."""
    document = orjson.loads(pull_request(number))
    missing = SIZE - len(orjson.dumps(document | {"padding": ""}))
    body = orjson.dumps(document | {"padding": _PADDING[:missing]})
    address = urlsplit(url)
    headers = {
        "Host": address.netloc,
        "User-Agent": "GitHub-Hookshot/bench",
        "Accept": "*/*",
        "Content-Length": str(len(body)),
        **github_headers(body, f"delivery-{number}"),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {address.path} HTTP/1.1\r\n{lines}\r\n".encode() + body


def counted(sereno: Running) -> int:
    """How many webhooks the gateway itself answered with 202."""
    page = sereno.http.get(f"{sereno.execution_url}/metrics").text
    found = re.findall(
        r'^sereno_webhook_requests_total\{[^}]*status="202"[^}]*\} ([0-9.e+]+)$', page, re.MULTILINE
    )
    return sum(int(float(value)) for value in found)


async def distinct_receipts(sereno: Running) -> int:
    """How many different receipts the ingress stream holds."""
    address, seed = _nats(sereno)
    client = await bus.connect(address, name="bench", seed=seed)
    try:
        jetstream = client.jetstream()
        state = (await jetstream.stream_info(bus.INGRESS)).state
        receipts: set[str] = set()
        for number in range(state.first_seq, state.last_seq + 1):
            message = await jetstream.get_msg(bus.INGRESS, number)
            receipts.update(envelope.receiptid for envelope in loads_batch(message.data or b""))
        return len(receipts)
    finally:
        await client.close()


def _nats(sereno: Running) -> tuple[str, str]:
    """Where NATS is, and the seed of the one user who may read every stream."""
    found = orjson.loads((sereno.data / "sereno.json").read_bytes())
    return found["nats"], (sereno.data / "secrets" / "nats_operator.seed").read_text().strip()


@contextlib.contextmanager
def empty_route() -> Iterator[str]:
    """The URL of a process with the server of the gateway and a route that reads the body and answers 204."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.empty_route"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


if __name__ == "__main__":
    sys.exit(main())
