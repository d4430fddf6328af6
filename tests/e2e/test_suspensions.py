"""A storm from end to end: held, told once, seen by people, and let go by the command with which they resume it."""

import json

import pytest

from tests.e2e.running import SECRET_VARIABLE, Running, endpoint_url, github_headers, pull_request, until

STORMY = f"""\
apiVersion: sereno/v1
kind: Agent
metadata: {{name: storm-reader}}
spec: {{owner: user:marta, adapter: pull, budget: {{activations: 1000/day}}}}
---
apiVersion: sereno/v1
kind: Endpoint
metadata: {{name: stormy}}
spec: {{scheme: github, secrets: ["env:{SECRET_VARIABLE}"]}}
---
apiVersion: sereno/v1
kind: Subscription
metadata: {{name: read-storm}}
spec:
  owner: user:marta
  agent: agent:storm-reader
  instruction: Look.
  source: {{webhook: {{endpoint: stormy}}}}
  limits: {{storm: {{threshold: 2/min}}}}
"""


@pytest.mark.req(109)
def test_a_storm_is_held_shown_and_resumed_by_a_person(installation: Running) -> None:
    url = endpoint_url(installation.apply(STORMY))
    for number in range(5):
        body = pull_request(70_000 + number)
        headers = github_headers(body, f"storm-{number}")
        assert installation.http.post(url, content=body, headers=headers).status_code == 202

    def shown() -> bool:
        found = json.loads(installation.command("sub", "show", "read-storm", "--json"))
        return bool(found["suspensions"])

    until(shown)
    assert "suspended" in installation.command("sub", "list")
    assert installation.ready("storm-reader") == 0
    said = installation.command("sub", "resume", "read-storm", "--held", "deliver", "--reason", "calm again")
    assert "lifted sus_" in said
    until(lambda: installation.ready("storm-reader") == 5)
    until(lambda: not shown())
