"""The processes of an installation side by side: what each counts of one wake, and what goes on without the control plane."""

import contextlib
import json
import os
import signal
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import httpx
import pytest

from sereno.deploy.identities import Identities
from sereno.deploy.nats_identities import OPERATOR
from sereno.mailbox.engine import bus
from tests.e2e.running import (
    DOCUMENTS,
    Running,
    endpoint_url,
    figures,
    github_headers,
    pull_request,
    running,
    until,
)

DELIVERED = 'sereno_decisions_total{family="webhook",guard="delivery",outcome="delivered",tenant="default"}'
# Counters that one wake moves, by the process that counts them.
ONE_WAKE = {
    "gateway": {
        'sereno_webhook_requests_total{status="202"}': 1,
        'sereno_ingress_events_total{family="webhook",tenant="default"}': 1,
        'sereno_mailbox_claims_total{tenant="default"}': 1,
        'sereno_mailbox_verbs_total{status="ok",verb="ack"}': 1,
    },
    "pipeline": {
        DELIVERED: 1,
        'sereno_mailbox_deposits_total{family="webhook",tenant="default"}': 1,
        'sereno_mailbox_closed_total{outcome="acked",tenant="default"}': 1,
    },
}


def counted(sereno: Running, process: str, wanted: Mapping[str, float]) -> bool:
    return wanted.items() <= figures(sereno, process).items()


@pytest.fixture(scope="module")
def sereno(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("installation") / "data") as installation:
        yield installation


@pytest.fixture(scope="module")
def endpoint(sereno: Running) -> str:
    return endpoint_url(sereno.apply(DOCUMENTS))


def send(sereno: Running, endpoint: str, number: int) -> None:
    body = pull_request(number)
    answer = sereno.http.post(endpoint, content=body, headers=github_headers(body, str(number)))
    assert answer.status_code == 202, answer.text


def outcomes(sereno: Running) -> Mapping[str, int]:
    """What the control plane knows of the subscription's events."""
    shown = sereno.control("GET", "/v1/subscriptions/review-pull-requests")
    return dict(shown["activity"]["outcomes"])


@pytest.mark.timeout(180)
def test_one_wake_is_counted_by_the_processes_through_which_it_goes(sereno: Running, endpoint: str) -> None:
    before = {process: figures(sereno, process) for process in ONE_WAKE}
    send(sereno, endpoint, 1)
    sereno.command("work", "reviewer", "--max", "1", "--exec", "cat")
    for process, moved in ONE_WAKE.items():
        wanted = {name: before[process].get(name, 0) + by for name, by in moved.items()}
        until(partial(counted, sereno, process, wanted))
    assert set(sereno.probes) == {"control", "gateway", "listeners", "pipeline"}
    for address in sereno.probes.values():
        assert httpx.get(f"{address}/readyz", trust_env=False).json()["status"] == "ready"


@pytest.mark.timeout(300)
def test_webhooks_wake_workers_while_the_control_plane_is_stopped(sereno: Running, endpoint: str) -> None:
    control = pid(sereno, "control")
    os.kill(control, signal.SIGSTOP)
    try:
        with pytest.raises(httpx.TimeoutException):
            httpx.get(f"{sereno.control_url}/healthz", timeout=1.0, trust_env=False)
        send(sereno, endpoint, 2)
        sereno.command("work", "reviewer", "--max", "1", "--exec", "cat")
    finally:
        # One that is stopped dies of this too; the supervisor starts another.
        os.kill(control, signal.SIGKILL)
    send(sereno, endpoint, 3)
    sereno.command("work", "reviewer", "--max", "1", "--exec", "cat")
    assert sereno.ready("reviewer") == 0

    until(lambda: pid(sereno, "control") != control and answers(sereno.control_url), seconds=120)
    # It learns of each delivery, once, and changes go their way again.
    until(lambda: outcomes(sereno).get("delivered", 0) == delivered(sereno))
    sereno.command("sub", "pause", "review-pull-requests", "--reason", "enough for today")
    send(sereno, endpoint, 4)
    until(lambda: outcomes(sereno).get("dropped") == 1)
    sereno.command("sub", "resume", "review-pull-requests", "--reason", "go on")


def delivered(sereno: Running) -> float:
    """How many deliveries the pipeline has counted; it runs from the first test to the last."""
    return figures(sereno, "pipeline").get(DELIVERED, 0)


def found(sereno: Running) -> Any:
    return json.loads((sereno.data / "sereno.json").read_bytes())


def pid(sereno: Running, process: str) -> int:
    return int(found(sereno)["pids"][process])


def answers(url: str) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"{url}/readyz", trust_env=False).is_success
    return False


@pytest.mark.timeout(300)
async def test_streams_that_are_deleted_are_made_again_and_work_goes_on(
    sereno: Running, endpoint: str
) -> None:
    # What the control plane has not read is lost with its stream.
    until(lambda: outcomes(sereno).get("delivered", 0) == delivered(sereno))
    nats = await bus.connect(
        found(sereno)["nats"], name="test", seed=Identities(sereno.data / "secrets").seeds[OPERATOR]
    )
    try:
        jetstream = nats.jetstream()
        for name in (bus.INGRESS, bus.REPORTS, bus.BUCKET_STREAM):
            await jetstream.delete_stream(name)
        until(lambda: all(answers(url) for url in sereno.probes.values()), seconds=60)
    finally:
        await nats.close()
    send(sereno, endpoint, 5)
    sereno.command("work", "reviewer", "--max", "1", "--exec", "cat")
    # Both ways between the planes are open again.
    until(lambda: outcomes(sereno).get("delivered", 0) == delivered(sereno), seconds=60)
    sereno.command("sub", "pause", "review-pull-requests", "--reason", "enough for today")
    sereno.command("sub", "resume", "review-pull-requests", "--reason", "go on")
