"""What this machine does with a whole Sereno, in figures: webhooks, deposits and claims per second, and a renewal.

Run by `make bench-smoke`, which ends with 1 and names what was missed: each webhook is accepted and becomes one message,
99 of 100 senders have their 202 within 250 ms, and 200 leases are renewed within a second. The installation lies in a
temporary folder and is removed afterwards.
"""

import asyncio
import os
import signal
import sys
import tempfile
import time
from http import HTTPStatus
from pathlib import Path

from tests.e2e.running import DOCUMENTS, Running, endpoint_url, running, until
from tests.e2e.webhook_load import Load, send

REQUESTS = 1000
CONNECTIONS = 32
CLAIM = 100
WARM_UP = 64
LONGEST_SECONDS = 0.25
LEASES = 200
BEAT_SECONDS = 1.0
AGENT = "reviewer"


def main() -> int:
    with (
        tempfile.TemporaryDirectory(prefix="sereno-bench-") as folder,
        running(Path(folder) / "data") as sereno,
    ):
        url = endpoint_url(sereno.apply(DOCUMENTS))
        asyncio.run(send(url, count=WARM_UP, connections=CONNECTIONS, first=1_000_001))
        load = asyncio.run(send(url, count=REQUESTS, connections=CONNECTIONS))
        until(lambda: sereno.ready(AGENT) >= WARM_UP + REQUESTS)
        deposits = backlog(sereno, url)
        beat = renew(sereno)
        claimed, seconds = drain(sereno)
    show(load, deposits, claimed / seconds, beat)
    faults = missed(load, claimed + LEASES, beat)
    sys.stderr.writelines(f"missed: {fault}\n" for fault in faults)
    return 1 if faults else 0


def missed(load: Load, claimed: int, beat: float) -> list[str]:
    """What the machine did not keep, as sentences."""
    faults = []
    if refused := sum(code != HTTPStatus.ACCEPTED for code in load.codes):
        faults.append(f"{refused} of {len(load.codes)} webhooks were not accepted")
    if claimed != WARM_UP + 2 * REQUESTS:
        faults.append(f"{WARM_UP + 2 * REQUESTS} webhooks became {claimed} messages")
    if (p99 := load.quantile(0.99)) > LONGEST_SECONDS:
        faults.append(f"202 after {1000 * p99:.0f} ms (p99), not within {1000 * LONGEST_SECONDS:.0f} ms")
    if beat > BEAT_SECONDS:
        faults.append(f"{LEASES} leases renewed in {beat:.2f} s, not within {BEAT_SECONDS:.0f} s")
    return faults


def renew(sereno: Running) -> float:
    """Seconds of the one request that renews the leases of a worker, the middle of three; they are acknowledged after it."""
    messages = sereno.execution("POST", f"/v1/mailboxes/{AGENT}/claim", {"max": LEASES})["messages"]
    items = [{"token": message["lease"]["token"]} for message in messages]
    assert len(items) == LEASES
    beats = []
    for _ in range(3):
        began = time.perf_counter()
        sereno.execution("POST", "/v1/leases/renew", {"items": items})
        beats.append(time.perf_counter() - began)
    sereno.execution("POST", "/v1/leases/ack", {"items": items})
    return sorted(beats)[1]


def backlog(sereno: Running, url: str) -> float:
    """Deposits per second when the pipeline finds all the events waiting."""
    before = sereno.ready(AGENT)
    os.kill(sereno.pids["pipeline"], signal.SIGSTOP)
    try:
        asyncio.run(send(url, count=REQUESTS, connections=CONNECTIONS, first=2_000_001))
    finally:
        os.kill(sereno.pids["pipeline"], signal.SIGCONT)
    began = time.perf_counter()
    until(lambda: sereno.ready(AGENT) >= before + REQUESTS, seconds=120)
    return REQUESTS / (time.perf_counter() - began)


def drain(sereno: Running) -> tuple[int, float]:
    """Claim and acknowledge everything over HTTP, one worker, in batches: how many, and in how many seconds."""
    count, began = 0, time.perf_counter()
    while messages := sereno.execution("POST", f"/v1/mailboxes/{AGENT}/claim", {"max": CLAIM})["messages"]:
        items = [{"token": message["lease"]["token"]} for message in messages]
        answers = sereno.execution("POST", "/v1/leases/ack", {"items": items})["items"]
        assert {answer["status"] for answer in answers} == {"ok"}
        count += len(messages)
    return count, time.perf_counter() - began


def show(load: Load, deposits: float, claims: float, beat: float) -> None:
    p50, p99 = (1000 * load.quantile(share) for share in (0.5, 0.99))
    sys.stdout.write(
        f"webhooks  {load.rate:8.0f} /s   {REQUESTS} signed requests, {CONNECTIONS} connections, "
        f"202 after {p50:.0f} ms (p50), {p99:.0f} ms (p99)\n"
        f"deposits  {deposits:8.0f} /s   {REQUESTS} waiting events through match, guards and commit\n"
        f"claims    {claims:8.0f} /s   claim and ack over HTTP, {CLAIM} at a time, one worker\n"
        f"renewal   {1000 * beat:8.0f} ms   {LEASES} leases in one request\n"
    )


if __name__ == "__main__":
    sys.exit(main())
