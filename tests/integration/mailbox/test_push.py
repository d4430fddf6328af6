"""Pushing messages to small real HTTP agents: what their answers mean, and who ends the run."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse, Response

from sereno.mailbox import standing
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.outbound import Addresses, Limits, Outbound
from sereno.mailbox.push import Bearer, Push, Signature, Template
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.worker import Worker
from tests.http_agents import HERMES_KEY, HERMES_SECRET, OPENCLAW_TOKEN, Canned, Hermes, OpenClaw, call_back
from tests.integration.mailbox.conftest import CommandLine
from tests.mailbox_messages import message
from tests.serving import serving
from tests.waiting import until

SIGNATURE = Signature((HERMES_KEY,))
OPENCLAW_BODY = (
    b'{"message": "{{ prompt }}", "name": "sereno", "sessionKey": "hook:{{ message.id }}",'
    b' "callback": "{{ callback.ack }}", "lease": "{{ lease }}"}'
)
Pushing = Callable[..., Awaitable[None]]


async def put(pool: AnyPool, **fields: object) -> None:
    async with pool.acquire() as conn:
        await deposit(conn, [message(**fields)])


@pytest.fixture
async def api(url: str) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": "Bearer worker-token"}
    async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=30) as api:
        yield api


async def the_message(api: httpx.AsyncClient) -> dict[str, Any]:
    """The one message of the mailbox with its history."""
    [listed] = (await api.get("/v1/mailboxes/triage/messages")).json()["messages"]
    found: dict[str, Any] = (await api.get(f"/v1/messages/{listed['id']}")).json()
    return found


def kinds(shown: dict[str, Any]) -> list[str]:
    return [event["kind"] for event in shown["history"] if event["kind"] != "renewed"]


@contextlib.asynccontextmanager
async def pushing(
    url: str,
    target: str,
    credentials: Bearer | Signature = SIGNATURE,
    *,
    template: bytes = b'{"text": "{{ prompt }}", "lease": "{{ lease }}"}',
    maximum: int | None = 1,
    lease: float | None = None,
    grace: float = 30,
) -> AsyncIterator[asyncio.Task[None]]:
    """A worker that pushes to `target` until it has had `maximum` messages, or the block ends."""
    outbound = Outbound(Addresses.opening(["127.0.0.0/8"]), Limits(time=timedelta(seconds=20)))
    worker = Worker(url, "worker-token", max_messages=maximum, grace=timedelta(seconds=grace))
    handler = Push(target, url, credentials, outbound, Template.parse(template))
    worker.agent("triage", lease=None if lease is None else timedelta(seconds=lease))(handler)
    working = asyncio.create_task(worker.run(handle_signals=False))
    try:
        yield working
    finally:
        worker.stop()
        await working
        await outbound.close()


async def test_200_with_a_result_acknowledges_with_it_and_its_usage(
    pool: AnyPool, url: str, api: httpx.AsyncClient
) -> None:
    await put(pool)
    agent = Canned([JSONResponse({"result": {"drafted": 1}, "usage": {"tokens": 9}})])
    async with serving(agent.app) as target, pushing(url, target) as working:
        await working
    shown = await the_message(api)
    assert shown["state"] == "acked"
    assert shown["history"][-1]["data"] == {"result": {"drafted": 1}, "usage": {"tokens": 9}}


async def test_a_push_carries_a_signature_and_a_delivery_id_of_message_and_token(
    pool: AnyPool, url: str, api: httpx.AsyncClient
) -> None:
    await put(pool)
    agent = Canned([JSONResponse({"result": None})])
    async with serving(agent.app) as target, pushing(url, target) as working:
        await working
    [(headers, body)] = agent.requests
    shown = await the_message(api)
    token = shown["history"][0]["token"]
    assert headers["webhook-id"] == headers["idempotency-key"] == f"{shown['id']}_{token}"
    signed = SIGNATURE.headers(headers["webhook-id"], int(headers["webhook-timestamp"]), body)
    assert headers["webhook-signature"] == signed["webhook-signature"]
    assert "authorization" not in headers
    pushed = json.loads(body)
    assert pushed["text"].startswith("Draft a reply.\n")
    assert pushed["lease"]["token"] == token


async def test_202_is_no_acknowledgement_the_lease_is_kept_until_the_agent_calls_back(
    pool: AnyPool, url: str, api: httpx.AsyncClient
) -> None:
    """OpenClaw's /hooks/agent: 202, runs on."""
    await put(pool)
    agent = OpenClaw()
    async with (
        serving(agent.app) as target,
        pushing(
            url, f"{target}/hooks/agent", Bearer(OPENCLAW_TOKEN), template=OPENCLAW_BODY, lease=3
        ) as working,
    ):
        await until(lambda: len(agent.taken) == 1)
        [turn] = agent.taken

        async def renewed_beyond_the_lease() -> bool:
            events = (await the_message(api))["history"]
            return [event["kind"] for event in events].count("renewed") >= 4

        await until(renewed_beyond_the_lease)
        shown = await the_message(api)
        assert (shown["state"], kinds(shown)) == ("leased", ["claimed"])
        said = [event["data"]["progress"] for event in shown["history"] if "progress" in event["data"]]
        assert said == [{"accepted": 'the agent answered 202: {"ok":true,"runId":"run-1"}'}]
        answer = await call_back(turn["callback"], turn["lease"]["bearer"], turn["lease"]["token"], "done")
        assert answer["status"] == "ok"
        await working
    shown = await the_message(api)
    # That its renewal was refused is how the worker learns that the run has ended.
    first, second, *refused = kinds(shown)
    assert (shown["state"], shown["attempts"], first, second) == ("acked", 1, "claimed", "acked")
    assert set(refused) == {"refused"}
    assert len(agent.taken) == 1


async def test_an_agent_that_never_calls_back_loses_the_lease_at_its_deadline(
    pool: AnyPool, url: str, api: httpx.AsyncClient
) -> None:
    await put(pool, max_run_seconds=5)
    agent = OpenClaw()
    reaping = asyncio.create_task(Reaper(pool).run())
    async with (
        serving(agent.app) as target,
        pushing(
            url, f"{target}/hooks/agent", Bearer(OPENCLAW_TOKEN), template=OPENCLAW_BODY, lease=4, maximum=2
        ),
    ):
        await until(lambda: len(agent.taken) == 2)
        first, second = agent.taken
        late = await call_back(first["callback"], first["lease"]["bearer"], first["lease"]["token"], "late")
        assert late["status"] in {"stale", "expired"}
        good = await call_back(
            second["callback"], second["lease"]["bearer"], second["lease"]["token"], "good"
        )
        assert good["status"] == "ok"
    reaping.cancel()
    shown = await the_message(api)
    assert (shown["state"], shown["attempts"]) == ("acked", 2)
    assert [event["data"]["result"] for event in shown["history"] if event["kind"] == "acked"] == ["good"]


async def test_a_drain_leaves_an_accepted_message_to_its_agent(
    pool: AnyPool, url: str, api: httpx.AsyncClient
) -> None:
    await put(pool)
    agent = OpenClaw()
    async with serving(agent.app) as target:
        async with pushing(
            url, f"{target}/hooks/agent", Bearer(OPENCLAW_TOKEN), template=OPENCLAW_BODY, grace=0.1
        ):
            await until(lambda: len(agent.taken) == 1)
        [turn] = agent.taken
        assert (await the_message(api))["state"] == "leased"
        answer = await call_back(turn["callback"], turn["lease"]["bearer"], turn["lease"]["token"], "done")
    assert answer["status"] == "ok"


async def test_a_withdrawn_message_ends_the_wait_for_its_agent(
    pool: AnyPool, url: str, api: httpx.AsyncClient
) -> None:
    await put(pool)
    agent = OpenClaw()
    async with (
        serving(agent.app) as target,
        pushing(
            url, f"{target}/hooks/agent", Bearer(OPENCLAW_TOKEN), template=OPENCLAW_BODY, lease=3
        ) as working,
    ):
        await until(lambda: len(agent.taken) == 1)
        async with pool.acquire() as conn:
            await standing.withdraw(conn, "acme", "refund-watch")
        await working
    [turn] = agent.taken
    answer = await call_back(turn["callback"], turn["lease"]["bearer"], turn["lease"]["token"], "done")
    assert answer["status"] == "cancelled"


async def test_another_attempt_is_no_duplicate_to_an_agent_that_remembers_delivery_ids(
    pool: AnyPool, url: str, api: httpx.AsyncClient
) -> None:
    """Hermes notes the delivery id, then fails: a retry under the same id would be swallowed for an hour."""
    await put(pool)
    agent = Hermes(crash=1)
    async with (
        serving(agent.app) as target,
        pushing(url, f"{target}/webhooks/sereno", maximum=2, lease=1) as working,
    ):
        await asyncio.wait_for(agent.runs.wait(), 60)
        [body] = agent.bodies
        await call_back(f"{url}/v1/leases/ack", body["lease"]["bearer"], body["lease"]["token"], "done")
        await working
    names = [name for name, _, _ in agent.answers]
    assert [status for _, status, _ in agent.answers] == [500, 202]
    assert len(set(names)) == 2
    shown = await the_message(api)
    assert (shown["state"], shown["attempts"]) == ("acked", 2)


async def test_a_duplicate_answer_is_no_acknowledgement(
    pool: AnyPool, url: str, api: httpx.AsyncClient
) -> None:
    """A proxy between us and Hermes repeated the POST: what we get to see is 200 "duplicate"."""
    await put(pool)
    agent = Hermes()
    async with serving(agent.app) as target:
        outbound = Outbound(Addresses.opening(["127.0.0.0/8"]), Limits())

        class Repeating(Outbound):
            async def fetch(self, *arguments: Any, **options: Any) -> Any:
                await super().fetch(*arguments, **options)
                return await super().fetch(*arguments, **options)

        worker = Worker(url, "worker-token", max_messages=1)
        repeating = Repeating(Addresses.opening(["127.0.0.0/8"]), Limits())
        template = Template.parse(b'{"lease": "{{ lease }}"}')
        worker.agent("triage", lease=timedelta(seconds=1))(
            Push(f"{target}/webhooks/sereno", url, SIGNATURE, repeating, template)
        )
        working = asyncio.create_task(worker.run(handle_signals=False))
        await until(lambda: len(agent.answers) == 2)
        assert [said for _, _, said in agent.answers] == ["accepted", "duplicate"]

        async def reported() -> bool:
            return any("progress" in event["data"] for event in (await the_message(api))["history"])

        await until(reported)
        assert (await the_message(api))["state"] == "leased"
        [body] = agent.bodies
        await call_back(f"{url}/v1/leases/ack", body["lease"]["bearer"], body["lease"]["token"], "done")
        await working
        await outbound.close()
        await repeating.close()
    assert (await the_message(api))["state"] == "acked"


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (Response("no message", 400), "rejected: the agent answered 400: no message"),
        (Response("", 404), "rejected: the agent answered 404"),
    ],
)
async def test_4xx_makes_the_message_dead_with_the_reason(
    pool: AnyPool, url: str, api: httpx.AsyncClient, answer: Response, detail: str
) -> None:
    await put(pool)
    async with serving(Canned([answer]).app) as target, pushing(url, target) as working:
        await working
    shown = await the_message(api)
    assert (shown["state"], shown["reason"]) == ("dead", "rejected")
    assert shown["history"][-1]["data"]["detail"] == detail
    assert "rejected by its worker" in (await api.get("/v1/notices")).json()["notices"][0]["text"]


async def test_a_wrong_signature_makes_the_message_dead(
    pool: AnyPool, url: str, api: httpx.AsyncClient
) -> None:
    await put(pool)
    async with (
        serving(Hermes().app) as target,
        pushing(
            url, f"{target}/webhooks/sereno", Signature((b"another key of thirty-two bytes!",))
        ) as working,
    ):
        await working
    assert (await the_message(api))["history"][-1]["data"]["detail"].startswith(
        "rejected: the agent answered 401"
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Response("", 503), "failed: the agent answered 503"),
        (Response("slow down", 429, {"Retry-After": "120"}), "failed: the agent answered 429: slow down"),
        (Response("", 302, {"Location": "http://127.0.0.1:9/"}), "failed: the agent answered 302"),
    ],
)
async def test_429_and_5xx_are_tried_again_later(
    pool: AnyPool, url: str, api: httpx.AsyncClient, answer: Response, reason: str
) -> None:
    await put(pool)
    async with serving(Canned([answer]).app) as target, pushing(url, target) as working:
        await working
    shown = await the_message(api)
    assert (shown["state"], shown["history"][-1]["data"]["reason"]) == ("ready", reason)
    waits = await pool.fetchval("select extract(epoch from ready_at - clock_timestamp()) from mailbox.work")
    assert waits > (100 if answer.status_code == 429 else -60)


async def test_an_agent_that_is_not_there_is_tried_again(
    pool: AnyPool, url: str, api: httpx.AsyncClient
) -> None:
    await put(pool)
    async with pushing(url, "http://127.0.0.1:9/") as working:
        await working
    shown = await the_message(api)
    assert (shown["state"], shown["history"][-1]["data"]["reason"]) == (
        "ready",
        "failed: no connection: ConnectError",
    )


async def test_the_command_pushes_and_ends_like_a_worker(
    pool: AnyPool, sereno: CommandLine, api: httpx.AsyncClient, tmp_path: Path
) -> None:
    await put(pool)
    secret = tmp_path / "secret"
    secret.write_text(HERMES_SECRET + "\n")
    body = tmp_path / "body.json"
    body.write_text(
        '{"text": "{{ message.instruction }}", "lease": "{{ lease }}", "ack": "{{ callback.ack }}"}'
    )
    agent = Hermes()
    async with serving(agent.app) as target:
        pushing = await sereno.start(
            "push", "triage", "--url", f"{target}/webhooks/sereno", "--secret", f"file:{secret}",
            "--body", str(body), "--allow-network", "127.0.0.0/8", "--lease", "2s", "--max", "1",
        )  # fmt: skip
        await asyncio.wait_for(agent.runs.wait(), 60)
        [pushed] = agent.bodies
        assert pushed["text"] == "Draft a reply."
        await call_back(pushed["ack"], pushed["lease"]["bearer"], pushed["lease"]["token"], "done")
        assert await asyncio.wait_for(pushing.wait(), 30) == 0
    assert (await the_message(api))["state"] == "acked"
