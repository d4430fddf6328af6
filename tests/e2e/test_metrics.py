"""What the processes show: all of it declared, bounded by what is declared, whatever people declare and send."""

import re

import pytest

from sereno.mailbox.engine.instruments import METRICS
from tests.e2e.running import SECRET_VARIABLE, Running, figures, github_headers, pull_request, until

ENDPOINT = f"""\
apiVersion: sereno/v1
kind: Agent
metadata: {{name: tallier}}
spec: {{owner: user:marta, adapter: pull}}
---
apiVersion: sereno/v1
kind: Endpoint
metadata: {{name: counted}}
spec: {{scheme: github, secrets: ["env:{SECRET_VARIABLE}"]}}
"""
SUBSCRIPTION = """\
---
apiVersion: sereno/v1
kind: Subscription
metadata: {{name: count-{number}}}
spec:
  owner: user:marta
  agent: agent:tallier
  instruction: Count.
  source: {{webhook: {{endpoint: counted}}}}
"""
DELIVERED = 'sereno_mailbox_deposits_total{family="webhook",tenant="default"}'
SUFFIX = re.compile(r"_(bucket|sum|count)(?=\{|$)")


def series(sereno: Running) -> set[str]:
    """Every series of every process; those of one instrument alone may rise in number only by what is declared."""
    return {f"{process} {name}" for process in sereno.probes for name in figures(sereno, process)}


def send(sereno: Running, url: str, number: int, waking: int) -> None:
    """One webhook, and so many wake-ups of it."""
    before = figures(sereno, "pipeline").get(DELIVERED, 0)
    body = pull_request(number)
    answer = sereno.http.post(url, content=body, headers=github_headers(body, f"counted-{number}"))
    assert answer.status_code == 202
    until(lambda: figures(sereno, "pipeline").get(DELIVERED, 0) == before + waking)


@pytest.mark.timeout(300)
@pytest.mark.req(157)
def test_what_people_declare_and_send_adds_no_series(installation: Running) -> None:
    sereno = installation
    applied = sereno.apply(ENDPOINT + SUBSCRIPTION.format(number=0))
    url = next(item["url"] for item in applied["objects"] if item["kind"] == "Endpoint")
    send(sereno, url, 9000, waking=1)
    # What follows from the first of its kind: the reports of a plane, and looks that were not due yet.
    until(lambda: 'sereno_mailbox_messages{state="ready",tenant="default"}' in figures(sereno, "pipeline"))
    before = series(sereno)
    sereno.apply(ENDPOINT + "".join(SUBSCRIPTION.format(number=number) for number in range(20)))
    for number in range(9001, 9004):
        send(sereno, url, number, waking=20)
    assert series(sereno) - before == set()
    declared = {metric.exposed for metric in METRICS.values()}
    shown = {SUFFIX.sub("", name.partition(" ")[2].partition("{")[0]) for name in before}
    assert shown <= declared
    assert not [name for name in before if re.search(r'="[^"]*(count-|tallier|counted|rcp_|msg_)', name)]
