"""One trace from a signal to its acknowledgement, as a collector gets it, and nothing secret or personal on the way."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.running import (
    SECRET_VARIABLE,
    Running,
    endpoint_url,
    github_headers,
    pull_request,
    running,
    until,
)
from tests.openai_server import Reply, serving, verdict
from tests.otlp_receiver import Received, Receiver, receiving

SECRET, MAIL = "whsec_Y2FuYXJ5LW9mLWFsbC1zZWNyZXRz", "canary.of.all.mails@people.example"
SERVER, CLIENT, PRODUCER, CONSUMER = 2, 3, 4, 5
TRACE, SENDER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
OTHER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
AGENT = """\
apiVersion: sereno/v1
kind: Agent
metadata: {{name: {name}}}
spec: {{owner: user:marta, adapter: pull}}
---
"""
WATCH = """\
apiVersion: sereno/v1
kind: Subscription
metadata: {{name: {name}}}
spec:
  owner: user:marta
  agent: agent:{name}
  instruction: Look at it.
  source: {source}
  {more}
---
"""
ENDPOINT = f"""\
apiVersion: sereno/v1
kind: Endpoint
metadata: {{name: github}}
spec: {{scheme: github, secrets: ["env:{SECRET_VARIABLE}"]}}
"""
HOOK = "{webhook: {endpoint: github}}"
OF_TYPE = "filters: [{{exact: {{type: com.example.{0}}}}}]"


def documents(at: datetime) -> str:
    watched = {
        "reader": (HOOK, "filters: [{exact: {type: com.github.pull_request.opened}}]"),
        "batcher": (
            HOOK,
            f"{OF_TYPE.format('batched')}\n  limits: {{batch: {{window: 60s, max_items: 3}}}}",
        ),
        "judge": (
            HOOK,
            f"{OF_TYPE.format('judged')}\n  condition: {{criterion: Is it about prices?, min_confidence: 0.6}}",
        ),
        "clock": (f'{{time: {{at: "{at.isoformat()}"}}}}', "misfire: all"),
    }
    made = [
        AGENT.format(name=name) + WATCH.format(name=name, source=source, more=more)
        for name, (source, more) in watched.items()
    ]
    return "".join(made) + ENDPOINT


def judge(request: dict[str, Any]) -> Reply:
    """It fires, but for an item that asks it to speak nonsense."""
    text = request["messages"][1]["content"]
    if "nonsense" in text:
        return Reply(f"{SECRET} {MAIL} {{")
    _, item, _ = text.splitlines()[1].split(" ", 2)
    return verdict(True, 0.9, (item, "prices"))


@dataclass(frozen=True, slots=True)
class Traced:
    """An installation that sends its spans to `receiver`, and the URL of its endpoint."""

    sereno: Running
    receiver: Receiver
    url: str
    folder: Path

    def send(self, body: bytes, delivery: str, **headers: str) -> str:
        """The receipt of a webhook that GitHub sends."""
        given = github_headers(body, delivery, secret=SECRET) | headers
        answer = self.sereno.http.post(self.url, content=body, headers=given)
        assert answer.status_code == 202, answer.text
        return str(answer.json().get("id"))

    def event(self, number: str, kind: str, data: Any = None, **attributes: str) -> str:
        """The receipt of a CloudEvent."""
        event = {"specversion": "1.0", "id": number, "source": "/shop", "type": f"com.example.{kind}"}
        body = json.dumps({**event, **attributes, "data": data}).encode()
        return self.send(body, number, **{"Content-Type": "application/cloudevents+json"})

    def spans(self, **wanted: Any) -> list[Received]:
        """Those with these attributes (`sereno.` before each)."""
        asked = {f"sereno.{name}": value for name, value in wanted.items()}
        return [one for one in self.receiver.spans if asked.items() <= one.attributes.items()]

    def named(self, name: str, **wanted: Any) -> Received:
        """The one span of this name with these attributes, once it came."""
        until(lambda: any(one.name == name for one in self.spans(**wanted)))
        [found] = [one for one in self.spans(**wanted) if one.name == name]
        return found

    def below(self, above: Received, name: str) -> Received:
        """The one span of this name below another, once it came."""

        def found() -> list[Received]:
            return [
                one
                for one in self.receiver.of_trace(above.trace)
                if (one.name, one.parent) == (name, above.id)
            ]

        until(found)
        [span] = found()
        assert span.ended >= span.began > 0
        return span

    def work(self, agent: str, command: str, *options: str) -> str:
        return self.sereno.command("work", agent, "--max", "1", *options, "--exec", command)


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    folder = tmp_path_factory.mktemp("traced")
    with serving(judge) as model, receiving() as receiver:
        evaluators = [
            {"name": "own", "model": "tiny", "url": model.url, "egress": "local", "key": "env:JUDGE"}
        ]
        variables = {**receiver.environment(), SECRET_VARIABLE: SECRET, "JUDGE": SECRET}
        with running(folder / "data", SERENO_EVALUATORS=json.dumps(evaluators), **variables) as sereno:
            due = datetime.now(UTC) + timedelta(seconds=3)
            yield Traced(sereno, receiver, endpoint_url(sereno.apply(documents(due))), folder)


RECEIVE = "POST /in/{endpoint_token}"


@pytest.mark.timeout(300)
@pytest.mark.req(156)
def test_a_webhook_and_its_acknowledgement_are_one_trace(traced: Traced) -> None:
    receipt = traced.send(pull_request(1), "one", traceparent=f"00-{TRACE}-{SENDER}-01")
    say = f'sh -c \'echo $TRACEPARENT > {traced.folder}/carried; echo "{{\\"emit\\": {{\\"type\\": \\"done\\"}}}}"\''
    traced.work("reader", say)

    activation = traced.named("activation", receipt=receipt)
    assert activation.attributes["sereno.outcome"] == "delivered"
    until(lambda: any(one.name == RECEIVE for one in traced.receiver.of_trace(TRACE)))
    [received] = [one for one in traced.receiver.of_trace(TRACE) if one.name == RECEIVE]
    assert (received.parent, received.kind, received.service) == (SENDER, SERVER, "sereno-gateway")
    assert received.attributes["http.response.status_code"] == 202
    assert received.attributes["sereno.receipts"][0].replace("-", "") == receipt.removeprefix("rcp_")
    assert (activation.trace, activation.parent) == (TRACE, received.id)
    for name in ("verify", "send ingress"):
        traced.below(received, name)
    for name in ("guards", "deposit", "claim"):
        traced.below(activation, name)
    run = traced.below(activation, "run reader")
    assert (run.kind, run.service, run.failed) == (CONSUMER, "sereno-worker", False)
    assert (traced.folder / "carried").read_text().strip() == f"00-{TRACE}-{run.id}-01"
    ack, emitted = traced.below(run, "ack"), traced.below(run, "emit")
    assert {one.attributes["sereno.message"] for one in (run, ack, emitted)} == {
        activation.attributes["sereno.message"]
    }
    # What the agent said enters again, in the same trace.
    traced.below(emitted, "send ingress")
    assert traced.below(emitted, "activation").attributes["sereno.origin"] == "agent/reader"

    [(trace, batch)] = activation.links
    until(lambda: traced.receiver.of_trace(trace))
    [processed] = traced.receiver.of_trace(trace)
    assert (processed.id, processed.name, processed.kind) == (batch, "process ingress", CONSUMER)
    assert (TRACE, received.id) in processed.links


@pytest.mark.timeout(300)
def test_a_worker_over_http_ends_its_trace_without_knowing_of_it(traced: Traced) -> None:
    receipt = traced.send(pull_request(2), "two", traceparent="00-nonsense")
    until(lambda: traced.sereno.ready("reader") > 0)
    claimed = traced.sereno.execution("POST", "/v1/mailboxes/reader/claim", {"max": 1, "incarnation": "curl"})
    token = claimed["messages"][0]["lease"]["token"]
    traced.sereno.execution("POST", "/v1/leases/ack", {"items": [{"token": token}]})
    traced.below(traced.named("activation", receipt=receipt), "ack")


@pytest.mark.timeout(300)
def test_what_a_sender_says_of_its_trace_is_a_link(traced: Traced) -> None:
    receipt = traced.event("linked", "linked", traceparent=OTHER)
    activation = traced.named("activation", receipt=receipt)
    assert activation.attributes["sereno.reason"] == "not_matched"
    until(lambda: any(one.id == activation.parent for one in traced.receiver.spans))
    [received] = [one for one in traced.receiver.spans if one.id == activation.parent]
    assert received.links == (("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"),)
    assert traced.event("malformed", "linked", traceparent="00-0")


@pytest.mark.timeout(300)
def test_a_batch_links_to_each_of_its_events(traced: Traced) -> None:
    receipts = [traced.event(f"batched-{number}", "batched", number) for number in range(3)]
    traced.work("batcher", "cat")
    merged = [traced.named("activation", receipt=receipt) for receipt in receipts]
    assert [one.attributes["sereno.outcome"] for one in merged] == ["merged"] * 3
    received = {(one.trace, one.parent) for one in merged}
    assert len(received) == 3
    flush = traced.named("flush", agent="batcher")
    assert set(flush.links) == set(traced.below(flush, "run batcher").links) == received


@pytest.mark.timeout(300)
@pytest.mark.req(156)
def test_a_condition_is_one_trace_through_both_of_its_passes(traced: Traced) -> None:
    receipt = traced.event("judged", "judged", "The prices went up.")
    traced.work("judge", "cat")
    first = traced.named("activation", receipt=receipt)
    assert first.attributes["sereno.outcome"] == "awaiting_verdict"
    evaluate = traced.below(first, "evaluate")
    assert (evaluate.attributes["sereno.fires"], evaluate.service) == (True, "sereno-evaluator")
    call = traced.below(evaluate, "chat tiny")
    assert (call.kind, call.attributes["gen_ai.request.model"]) == (CLIENT, "tiny")
    assert call.attributes["gen_ai.usage.input_tokens"] == 100
    assert traced.below(evaluate, "send ingress").kind == PRODUCER
    second = traced.below(evaluate, "activation")
    assert second.attributes["sereno.outcome"] == "delivered"
    traced.below(traced.below(second, "run judge"), "ack")


@pytest.mark.timeout(300)
def test_an_instant_begins_a_trace(traced: Traced) -> None:
    traced.work("clock", "cat")
    fired = traced.named("fire time", subscription="clock")
    assert fired.parent == ""
    traced.below(fired, "send ingress")
    traced.below(traced.below(traced.below(fired, "activation"), "run clock"), "ack")


def canaries(traced: Traced) -> str:
    """What goes every way with a secret and an address in it; what the commands said."""
    said = []
    words = {"mail": MAIL, "key": SECRET, "note": f"write to {MAIL} with {SECRET}"}
    request = json.loads(pull_request(3)) | {"sender": {"login": MAIL}, **words}
    traced.send(json.dumps(request).encode(), MAIL)
    failing = f"sh -c 'echo {MAIL} {SECRET}; echo {MAIL} {SECRET} >&2; exit 70'"
    said.append(traced.work("reader", failing, "--once"))
    traced.event(MAIL, "judged", {"nonsense": words}, subject=MAIL, tracestate=f"mail={MAIL}")
    until(lambda: any(one.failed for one in traced.receiver.spans if one.name == "evaluate"))
    for body, headers in (
        (json.dumps(words).encode(), {"X-Hub-Signature-256": SECRET, "From": MAIL}),
        (
            f'{{"{MAIL}": {SECRET}'.encode(),
            github_headers(f'{{"{MAIL}": {SECRET}'.encode(), MAIL, secret=SECRET),
        ),
    ):
        for url in (traced.url, f"{traced.sereno.execution_url}/in/{SECRET}"):
            assert traced.sereno.http.post(url, content=body, headers=headers).status_code >= 400
    refused = traced.sereno.http.post(
        f"{traced.sereno.execution_url}/v1/leases/ack?{MAIL}",
        json={"items": [{"token": MAIL, "result": SECRET}]},
        headers={"Authorization": f"Bearer {SECRET}", "traceparent": MAIL},
    )
    assert refused.status_code >= 400
    return "".join(said)


@pytest.mark.timeout(300)
def test_no_secret_and_no_address_is_in_a_log_a_metric_or_a_span(traced: Traced) -> None:
    said = canaries(traced)
    sent = len(traced.receiver.spans)
    traced.send(pull_request(4), "last")
    until(lambda: len(traced.receiver.spans) > sent)
    logs = [path.read_text() for path in (traced.folder / "data").rglob("*.log")]
    pages = [httpx.get(f"{url}/metrics", trust_env=False).text for url in traced.sereno.probes.values()]
    assert len(logs) >= 5
    assert len(pages) >= 5
    for text in [said, *logs, *pages, *(body.decode("latin-1") for body in traced.receiver.bodies)]:
        assert MAIL not in text
        assert SECRET not in text
