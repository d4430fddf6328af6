"""Documents that tests of the control plane apply, small and valid."""

AGENT = """\
apiVersion: sereno/v1
kind: Agent
metadata: {name: triage, labels: {team: support}}
spec: {owner: "user:marta", adapter: exec}
"""
ENDPOINT = """\
apiVersion: sereno/v1
kind: Endpoint
metadata: {name: zendesk, labels: {team: support}}
spec: {scheme: github, secrets: ["env:ZENDESK_SECRET"]}
"""


def subscription(
    name: str = "refund-watch",
    *,
    instruction: str = "Draft a reply.",
    agent: str = "triage",
    endpoint: str = "zendesk",
    metadata: str = "",
) -> str:
    """A subscription on the endpoint above; `metadata` is more of it, such as `, version: 2`."""
    return f"""\
apiVersion: sereno/v1
kind: Subscription
metadata: {{name: {name}, labels: {{team: support}}{metadata}}}
spec:
  owner: user:marta
  agent: agent:{agent}
  instruction: {instruction}
  source: {{webhook: {{endpoint: {endpoint}}}}}
"""


def several(*documents: str) -> str:
    """One YAML text of them all."""
    return "---\n".join(documents)


ALL = several(AGENT, ENDPOINT, subscription())
