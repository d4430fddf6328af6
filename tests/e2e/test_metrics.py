"""What the four processes show at /metrics after one wake: the figures of the board, counted where they arise."""

import re
from collections.abc import Mapping
from functools import partial

import httpx
import pytest

from tests.e2e.running import DOCUMENTS, Running, endpoint_url, github_headers, pull_request, until

# Counters that one wake moves, by the process that counts them.
ONE_WAKE = {
    "gateway": {
        'sereno_webhook_requests_total{status="202"}': 1,
        'sereno_ingress_events_total{family="webhook"}': 1,
        "sereno_mailbox_claims_total": 1,
        'sereno_mailbox_verbs_total{status="ok",verb="ack"}': 1,
    },
    "pipeline": {
        'sereno_decisions_total{guard="delivery",outcome="delivered"}': 1,
        "sereno_mailbox_deposits_total": 1,
    },
}


def figures(sereno: Running, process: str) -> dict[str, float]:
    """Each series of ours with its value, without the labels that name the instrumentation."""
    text = httpx.get(f"{sereno.probes[process]}/metrics", trust_env=False).text
    found = {}
    for name, labels, value in re.findall(r"^(sereno_\w+)(?:\{(.*)\})? (\S+)$", text, re.MULTILINE):
        own = sorted(label for label in re.findall(r'\w+="[^"]*"', labels) if not label.startswith("otel_"))
        found[f"{name}{{{','.join(own)}}}" if own else name] = float(value)
    return found


def counted(sereno: Running, process: str, before: Mapping[str, float], wanted: Mapping[str, float]) -> bool:
    now = figures(sereno, process)
    return {name: now.get(name, 0) - before.get(name, 0) for name in wanted} == wanted


@pytest.mark.timeout(600)
def test_one_wake_is_counted_by_the_processes_through_which_it_goes(installation: Running) -> None:
    url = endpoint_url(installation.apply(DOCUMENTS))
    before = {process: figures(installation, process) for process in ONE_WAKE}
    body = pull_request(1)
    assert installation.http.post(url, content=body, headers=github_headers(body, "1")).status_code == 202
    installation.command("work", "reviewer", "--max", "1", "--exec", "cat")
    for process, wanted in ONE_WAKE.items():
        until(partial(counted, installation, process, before[process], wanted))
    assert set(installation.probes) == {"control", "gateway", "listeners", "pipeline"}
    for address in installation.probes.values():
        assert httpx.get(f"{address}/readyz", trust_env=False).json()["status"] == "ready"
