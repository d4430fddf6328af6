"""An agent and its tools over both transports of MCP, by the SDK's own client: bounded by its token whatever it asks."""

import asyncio
import gc
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.e2e.running import SECRET_VARIABLE, Running, endpoint_url, github_headers, pull_request, until

DECLARED = f"""\
apiVersion: sereno/v1
kind: Agent
metadata: {{name: asker}}
spec: {{owner: user:marta, adapter: pull, capabilities: [subscribe]}}
---
apiVersion: sereno/v1
kind: Agent
metadata: {{name: bystander}}
spec: {{owner: user:marta, adapter: pull, capabilities: [subscribe]}}
---
apiVersion: sereno/v1
kind: Endpoint
metadata: {{name: asked}}
spec: {{scheme: github, secrets: ["env:{SECRET_VARIABLE}"]}}
---
apiVersion: sereno/v1
kind: Subscription
metadata: {{name: wake-asker}}
spec: {{owner: user:marta, agent: agent:asker, instruction: Look., source: {{webhook: {{endpoint: asked}}}}}}
---
apiVersion: sereno/v1
kind: Subscription
metadata: {{name: wake-bystander}}
spec: {{owner: user:marta, agent: agent:bystander, instruction: Look., source: {{webhook: {{endpoint: asked}}}}}}
"""
WISH = {
    "instruction": "Tidy the board each morning.",
    "source": {"time": {"cron": "0 6 * * *", "zone": "UTC"}},
}
TOOLS = {
    "my_subscriptions",
    "request_subscription",
    "why_refused",
    "claim",
    "ack",
    "renew",
    "release",
    "explain",
}


@asynccontextmanager
async def over_http(sereno: Running, token: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(f"{sereno.execution_url}/mcp", http_client=http)) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(sereno: Running, token: str) -> AsyncIterator[Client]:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "sereno.deploy.main", "mcp", "serve"],
        env={**sereno.environment, "SERENO_TOKEN": token},
    )
    try:
        async with Client(command) as client:
            yield client
    finally:
        # The SDK leaves the pipes of its child to the collector, which must not come after the end of the loop.
        gc.collect()
        await asyncio.sleep(0)


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    text = answer.content[0].text  # type: ignore[union-attr]
    assert not answer.is_error, text
    found: dict[str, Any] = json.loads(text)
    return found


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return str(answer.content[0].text)  # type: ignore[union-attr]


def token_of(sereno: Running, agent: str) -> str:
    made = sereno.control("POST", "/v1/tokens", {"principal": f"agent:{agent}"})
    sereno.in_force({made["tenant"]: made["manifest"]})
    return str(made["token"])


@pytest.mark.req(9, 130, 135, 287)
def test_an_agent_reads_asks_works_and_learns_why_over_both_transports(installation: Running) -> None:
    url = endpoint_url(installation.apply(DECLARED))
    installation.control("POST", "/v1/grants", {"to": "agent:asker", "source": "time"})
    token = token_of(installation, "asker")
    for number in range(2):
        body = pull_request(81_000 + number)
        headers = github_headers(body, f"asked-{number}")
        assert installation.http.post(url, content=body, headers=headers).status_code == 202
    until(lambda: installation.ready("asker") == 2)

    asyncio.run(_over(installation, over_http, token, "tidy-http"))
    asyncio.run(_over(installation, over_stdio, token, "tidy-stdio"))

    admin = {"Authorization": f"Bearer {installation.token}"}
    for headers, status in (({}, 401), ({"Authorization": "Bearer srn_nobody"}, 401), (admin, 403)):
        answer = installation.http.post(f"{installation.execution_url}/mcp", headers=headers, json={})
        assert answer.status_code == status
    assert installation.command("mcp", "serve", "--address") == f"{installation.execution_url}/mcp\n"


async def _over(sereno: Running, transport: Any, token: str, name: str) -> None:
    async with transport(sereno, token) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        mine = await call(client, "my_subscriptions")
        names = {one["name"] for one in mine["subscriptions"]}
        assert "wake-asker" in names
        assert "wake-bystander" not in names, "another agent's stays out of sight"

        unseen = {**WISH, "source": {"webhook": {"endpoint": "asked"}}}
        denied = await refused(client, "request_subscription", name=f"{name}-unseen", spec=unseen)
        assert "sereno grants add --to agent:asker --source webhook/asked" in denied, (
            "and what would allow it"
        )
        made = await call(client, "request_subscription", name=name, spec=WISH, reason="the board is a mess")
        assert made["state"] == "pending_approval"
        waiting = await call(client, "why_refused", name=name)
        [request] = waiting["requests"]
        assert (waiting["state"], request["state"]) == ("pending_approval", "pending")
        await asyncio.to_thread(
            sereno.command, "approvals", "deny", request["id"], "--reason", "not in the morning"
        )
        told = await call(client, "why_refused", name=name)
        assert (told["requests"][0]["state"], told["requests"][0]["reason"]) == (
            "denied",
            "not in the morning",
        )
        again = await refused(client, "request_subscription", name=name, spec=WISH)
        assert "not in the morning" in again, "a no is remembered and cited"
        other = {**WISH, "agent": "agent:bystander"}
        assert "agent" in await refused(client, "request_subscription", name=f"{name}-other", spec=other)
        borrowed = {**WISH, "owner": "user:marta"}
        assert "owner" in await refused(client, "request_subscription", name=f"{name}-o", spec=borrowed)
        assert "wake-bystander is not yours" in await refused(client, "why_refused", name="wake-bystander")

        [message] = (await call(client, "claim", max=1))["messages"]
        assert (message["subscription"]["name"], message["instruction"]) == ("wake-asker", "Look.")
        lease = message["lease"]["token"]
        assert (await call(client, "renew", token=lease))["status"] == "ok"
        assert (await call(client, "ack", token=lease, result={"seen": 1}))["status"] == "ok"
        assert (await call(client, "ack", token=lease))["status"] == "stale"
        why = await call(client, "explain", identifier=message["id"])
        assert "asker" in json.dumps(why)
        assert "nothing is known" in await refused(client, "explain", identifier="msg_" + "0" * 32)


@pytest.mark.req(299)
def test_both_planes_chains_are_walked_and_exported_by_one_command(installation: Running) -> None:
    installation.apply(DECLARED)
    found = json.loads(installation.command("audit", "verify", "--json"))
    assert found["whole"]
    assert [plane["plane"] for plane in found["planes"]] == ["control", "execution"]
    file = installation.data / "export.jsonl"
    installation.command("audit", "export", "--to", str(file))
    keys = installation.data / "secrets/audit_keys.json"
    signed = [str(path) for path in (installation.data / "audit").glob("*.jsonl")]
    assert signed, "checkpoints are signed from the start"
    options = [part for path in signed for part in ("--checkpoints", path)]
    walked = installation.command("audit", "verify", "--file", str(file), *options, "--keys", str(keys))
    assert "control plane: whole" in walked
    assert "agent declared: agent/asker" in installation.command(
        "audit", "export", "--words", "--plane", "control"
    )


def test_a_tenant_is_written_into_a_folder_and_read_back_without_a_difference(
    installation: Running, tmp_path: Path
) -> None:
    installation.apply(DECLARED)
    installation.command("sub", "pause", "wake-bystander", "--reason", "tests")
    folder = tmp_path / "export"
    said = json.loads(installation.command("export", "--dir", str(folder), "--json"))
    assert said["objects"] >= 5
    assert "wake-bystander" in json.loads((folder / "export.json").read_text())["paused"]
    assert len((folder / "events.jsonl").read_text().splitlines()) == said["events"]
    read = json.loads(installation.command("import", "--dir", str(folder), "--json"))
    assert (read["changed"], read["differences"]) == ([], [])
    installation.command("diff", "-f", str(folder / "catalog.yaml"))
    # A record that was changed on the way is named, and nothing is put in force.
    lines = (folder / "audit.jsonl").read_text().splitlines()
    lines[0] = lines[0].replace('"seq":1', '"seq":1,"x":1').replace("declared", "deleted!")
    (folder / "audit.jsonl").write_text("\n".join(lines))
    installation.command("import", "--dir", str(folder), code=1)
