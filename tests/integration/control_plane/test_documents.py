"""What an export writes makes the same catalog again, down to the last field."""

import hashlib
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import yaml
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.api import create_app
from sereno.control_plane.bootstrapping import bootstrap

ADMIN = "srn_" + "d" * 43
RICH = """\
apiVersion: sereno/v1
kind: Tenant
metadata: {name: default}
spec: {zone: Europe/Madrid}
---
apiVersion: sereno/v1
kind: Agent
metadata: {name: triage, labels: {team: support}}
spec: {owner: "user:marta", adapter: exec, capabilities: [subscribe], concurrency: 3, budget: {activations: 100/day}}
---
apiVersion: sereno/v1
kind: Endpoint
metadata: {name: zendesk}
spec: {scheme: github, secrets: ["env:ZENDESK_SECRET"], max_body: 65536}
---
apiVersion: sereno/v1
kind: Subscription
metadata: {name: refund-watch, labels: {team: support}}
spec:
  owner: user:marta
  agent: agent:triage
  instruction: Draft a reply to each customer who asks for money back.
  source: {webhook: {endpoint: zendesk}}
  filters:
    - prefix: {type: com.zendesk.ticket}
    - cel: data.priority in ["high", "urgent"]
  limits:
    cooldown: {every: 10m, then: batch}
    batch: {window: 5m, max_wait: 30m, max_items: 50, by: data.customer}
    budget: {activations: 100/day, cost: {limit: 5.00 EUR/day, reserve: 0.30 EUR}}
    storm: {threshold: 60/min}
    max_occurrences: 1000
    expires: 2099-01-01T00:00:00Z
    quiet_hours: {zone: Europe/Madrid, from: "22:00", to: "07:00", then: batch}
  delivery: {priority: 1, serial_by: data.customer, max_attempts: 5, lease: 60s, max_run: 1h, max_age: 24h}
---
apiVersion: sereno/v1
kind: Subscription
metadata: {name: each-morning}
spec:
  owner: user:marta
  agent: agent:triage
  instruction: "Look: all of it # really"
  source: {time: {rrule: FREQ=DAILY, dtstart: "2026-03-01T09:00:00", zone: Europe/Madrid, gap: skip}}
  misfire: all
"""


async def ready() -> dict[str, str | None]:
    return {}


@pytest.fixture
async def client(engine: AsyncEngine) -> AsyncIterator[httpx.AsyncClient]:
    await bootstrap(engine, hashlib.sha256(ADMIN.encode()).hexdigest())
    app = create_app(engine, execution_url="http://hooks.example", ready=ready)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {ADMIN}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://control", headers=headers) as client:
        yield client


async def documents(client: httpx.AsyncClient, tenant: str) -> list[Any]:
    answer = await client.get("/v1/documents", params={"tenant": tenant})
    assert answer.is_success, answer.text
    return [item["document"] for item in answer.json()["items"]]


async def test_a_catalog_made_of_its_own_documents_is_the_same(client: httpx.AsyncClient) -> None:
    made = await client.post("/v1/apply", json={"documents": RICH})
    assert made.is_success, made.text
    written = await documents(client, "default")
    assert [one["kind"] for one in written] == ["Tenant", "Agent", "Endpoint", "Subscription", "Subscription"]
    text = yaml.safe_dump_all(written, sort_keys=False, allow_unicode=True)
    differences = await client.post("/v1/diff", json={"documents": text})
    assert differences.json() == {"changes": []}
    # The same under another name: made from nothing.
    renamed = yaml.safe_dump_all(
        json.loads(json.dumps(written).replace('"default"', '"copy"')), sort_keys=False
    )
    again = await client.post("/v1/apply", json={"documents": renamed})
    assert again.is_success, again.text
    assert {one["change"] for one in again.json()["objects"]} == {"created"}
    copied = json.loads(json.dumps(await documents(client, "copy")).replace('"copy"', '"default"'))
    assert copied == written
