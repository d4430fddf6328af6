import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx
import orjson
import pytest
from nats.aio.client import Client

from sereno.envelope.decode import loads_batch
from sereno.envelope.envelope import Envelope
from sereno.envelope.identifiers import from_people
from sereno.execution_plane import gateway_process
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.engine import bus, http_server
from sereno.mailbox.engine.bus import INGRESS
from sereno.mailbox.engine.settings import Settings
from tests.described import ask_as_described
from tests.integration.execution_plane.declaring import ADMIN_TOKEN, TENANT, Declarer, admin_token, endpoint

Wait = Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]
KEY = b"it is a secret"
ISSUE: dict[str, Any] = {
    "action": "opened",
    "issue": {"number": 12, "updated_at": "2026-11-30T10:00:00Z"},
    "repository": {"url": "https://api.github.com/repos/acme/shop"},
    "sender": {"login": "marta"},
}
BODY = orjson.dumps(ISSUE)
STRANGER = {
    "type": "about:blank",
    "title": "unauthenticated",
    "status": 401,
    "code": "unauthenticated",
    "detail": "the endpoint or the signature is not known here",
}


def signed(body: bytes, *, key: bytes = KEY, **more: str) -> dict[str, str]:
    signature = hmac.digest(key, body, hashlib.sha256).hex()
    headers = {
        "content-type": "application/json",
        "x-hub-signature-256": f"sha256={signature}",
        "x-github-event": "issues",
        "x-github-delivery": "d-1",
    }
    return headers | {name.replace("_", "-"): value for name, value in more.items()}


@dataclass(frozen=True)
class Gateway:
    """A running gateway, a client of it, and what it stored."""

    http: httpx.AsyncClient
    nats: Client
    stop: asyncio.Event

    async def send(self, body: bytes, headers: Mapping[str, str], token: str = "in-hub") -> httpx.Response:
        return await self.http.post(f"/in/{token}", content=body, headers=headers)

    async def stored(self) -> list[Envelope]:
        jetstream = self.nats.jetstream()
        state = (await jetstream.stream_info(INGRESS)).state
        if not state.messages:
            return []
        messages = [await jetstream.get_msg(INGRESS, n) for n in range(state.first_seq, state.last_seq + 1)]
        return [envelope for message in messages for envelope in loads_batch(message.data or b"")]


@pytest.fixture
async def gateway(
    declarer: Declarer,
    operator: Client,
    settings: Callable[[str], Settings],
    eventually: Wait,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Gateway]:
    monkeypatch.setenv("HOOK_SECRET", KEY.decode())
    monkeypatch.setenv("BLANK_SECRET", "  ")
    await declarer.publish(
        admin_token(),
        endpoint("hub", "in-hub"),
        endpoint("other", "in-other"),
        endpoint("small", "in-small", max_body=10),
        endpoint("blank", "in-blank", secrets=["env:BLANK_SECRET"]),
        endpoint("plain", "in-plain", scheme="hmac", header="X-Hub-Signature-256", prefix="sha256="),
    )
    listening = http_server.bind("127.0.0.1", 0)
    monkeypatch.setattr(http_server, "bind", lambda _host, _port: listening)
    stop = asyncio.Event()
    process = asyncio.create_task(gateway_process.run(settings("gateway"), stop))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:

        async def knows() -> bool:
            assert not process.done(), process.exception()
            headers = {"authorization": f"Bearer {ADMIN_TOKEN}"}
            return (await client.get("/v1/manifest", headers=headers)).status_code == 200

        await eventually(knows)
        yield Gateway(client, operator, stop)
        stop.set()
        await process


@pytest.mark.timeout(600)
async def test_whatever_the_description_allows_is_answered_as_described(gateway: Gateway) -> None:
    headers = {"authorization": f"Bearer {ADMIN_TOKEN}"}
    document = (await gateway.http.get("/openapi.json", headers=headers)).json()
    statuses = await asyncio.to_thread(ask_as_described, str(gateway.http.base_url), document, headers)
    assert {200, 401, 422} <= statuses.keys()
    assert (await gateway.send(BODY, signed(BODY))).status_code == 202


async def test_a_signed_webhook_is_stored_before_it_is_answered(gateway: Gateway) -> None:
    answer = await gateway.send(BODY, signed(BODY))
    assert answer.status_code == 202
    prefix, receipt = from_people(answer.json()["id"])
    assert prefix == "rcp"
    (envelope,) = await gateway.stored()
    assert UUID(envelope.receiptid) == receipt
    assert (envelope.tenantid, envelope.origin, envelope.actor) == (TENANT, "webhook/hub", "marta")
    assert (envelope.type, envelope.subject, envelope.id) == ("com.github.issues.opened", "12", "d-1")
    assert envelope.data == ISSUE


async def test_the_raw_bytes_are_verified(gateway: Gateway) -> None:
    body = '{"a": 1.0,  "b":"é"}'.encode()
    assert (await gateway.send(body, signed(body))).status_code == 202
    written_anew = '{"a":1.0,"b":"é"}'.encode()
    assert (await gateway.send(written_anew, signed(body))).status_code == 401


@pytest.mark.parametrize(
    ("token", "headers"),
    [
        ("in-nobody", signed(BODY)),
        ("in-hub", signed(BODY, key=b"another")),
        ("in-hub", {"content-type": "application/json"}),
        ("in-hub", signed(BODY) | {"x-hub-signature-256": "sha256="}),
        ("in-blank", signed(BODY, key=b"")),
        ("in-blank", signed(BODY, key=b"  ")),
        ("in-small", signed(BODY, key=b"another")),
        ("in-hub", signed(BODY, key=b"another", content_type="text/plain")),
    ],
)
async def test_strangers_all_get_the_same_answer(
    token: str, headers: dict[str, str], gateway: Gateway
) -> None:
    answer = await gateway.send(BODY, headers, token)
    assert (answer.status_code, answer.json()) == (401, STRANGER)
    assert await gateway.stored() == []


@pytest.mark.parametrize(
    ("sent", "status", "named"),
    [
        (("in-small", BODY, {}), 413, "10 bytes"),
        (("in-hub", BODY, {"content-type": "text/plain"}), 415, "application/json"),
        (("in-hub", b'{"action": }', {}), 400, "character 11"),
        (("in-hub", b'["no object"]', {}), 400, "JSON object"),
        (("in-plain", b'{"specversion":"1.0"}', {"content-type": "application/cloudevents+json"}), 400, "id"),
    ],
)
async def test_who_signed_is_told_what_is_wrong(
    sent: tuple[str, bytes, dict[str, str]], status: int, named: str, gateway: Gateway
) -> None:
    token, body, headers = sent
    answer = await gateway.send(body, signed(body) | headers, token)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert named in answer.json()["detail"]
    assert await gateway.stored() == []


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_beyond_10_mb_is_refused_whoever_sends_it(chunked: bool, gateway: Gateway) -> None:
    body = b"x" * 10_000_001

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 1_000_000):
            yield body[start : start + 1_000_000]

    answer = await gateway.http.post(
        "/in/in-hub", content=pieces() if chunked else body, headers=signed(body)
    )
    assert answer.status_code == 413
    assert answer.json()["code"] == "too_large"
    assert (await gateway.send(BODY, signed(BODY))).status_code == 202


async def test_one_delivery_at_two_endpoints_is_two_receipts(gateway: Gateway) -> None:
    for token in ("in-hub", "in-other"):
        assert (await gateway.send(BODY, signed(BODY), token)).status_code == 202
    assert [envelope.origin for envelope in await gateway.stored()] == ["webhook/hub", "webhook/other"]


async def test_a_batch_of_cloudevents_is_answered_with_every_receipt(gateway: Gateway) -> None:
    event = {"specversion": "1.0", "source": "/shop", "type": "com.acme.order"}
    body = orjson.dumps([event | {"id": str(number)} for number in range(3)])
    kind = "application/cloudevents-batch+json"
    answer = await gateway.send(body, signed(body, content_type=kind), "in-plain")
    assert answer.status_code == 202
    stored = await gateway.stored()
    assert [envelope.id for envelope in stored] == ["0", "1", "2"]
    assert [from_people(receipt)[1] for receipt in answer.json()["ids"]] == [
        UUID(e.receiptid) for e in stored
    ]


@pytest.mark.parametrize("parent", ["", "nonsense", "00-" + "0" * 32 + "-" + "0" * 16 + "-01"])
async def test_a_malformed_trace_rejects_nothing(parent: str, gateway: Gateway) -> None:
    assert (await gateway.send(BODY, signed(BODY, traceparent=parent))).status_code == 202
    (envelope,) = await gateway.stored()
    assert envelope.traceparent != parent


async def test_the_trace_of_the_request_goes_on(gateway: Gateway) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    await gateway.send(BODY, signed(BODY, traceparent=parent))
    (envelope,) = await gateway.stored()
    assert envelope.traceparent is not None
    assert envelope.traceparent.split("-")[1] == parent.split("-")[1]


async def test_the_handshake_allows_every_origin_alike(gateway: Gateway) -> None:
    asking = {"webhook-request-origin": "shop.example", "webhook-request-rate": "120"}
    answers = [
        await gateway.http.options(f"/in/{token}", headers=asking) for token in ("in-hub", "in-nobody")
    ]
    for answer in answers:
        assert answer.status_code == 200
        assert answer.headers["webhook-allowed-origin"] == "shop.example"
        assert answer.headers["webhook-allowed-rate"] == "*"
        assert "POST" in answer.headers["allow"]
    assert "webhook-allowed-origin" not in (await gateway.http.options("/in/in-hub")).headers


@pytest.mark.parametrize(
    ("rate", "allowed"), [("1", True), ("0", False), ("x", False), ("\u0661", False), ("9" * 5000, True)]
)
async def test_a_rate_is_a_positive_number_of_any_length(gateway: Gateway, rate: str, allowed: bool) -> None:
    asking = {b"webhook-request-origin": b"shop.example", b"webhook-request-rate": rate.encode()}
    answer = await gateway.http.options("/in/in-hub", headers=asking)
    assert answer.status_code == 200
    assert ("webhook-allowed-origin" in answer.headers) is allowed


async def test_who_signed_for_a_deleted_endpoint_is_told_so_and_nobody_else(
    gateway: Gateway, declarer: Declarer, eventually: Wait
) -> None:
    assert (await gateway.send(BODY, signed(BODY), "in-other")).status_code == 202
    await declarer.publish(admin_token(), endpoint("hub", "in-hub"))

    async def gone() -> bool:
        return (await gateway.send(BODY, signed(BODY), "in-other")).status_code == 410

    await eventually(gone)
    answer = await gateway.send(BODY, signed(BODY), "in-other")
    assert (answer.status_code, answer.json()["code"]) == (410, "gone")
    stranger = await gateway.send(BODY, signed(BODY, key=b"another"), "in-other")
    assert (stranger.status_code, stranger.json()) == (401, STRANGER)
    assert [envelope.origin for envelope in await gateway.stored()][-1] == "webhook/other"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
async def test_other_methods_are_told_which_are_allowed(gateway: Gateway, method: str) -> None:
    answer = await gateway.http.request(method, "/in/in-hub")
    assert answer.status_code == 405
    assert "POST" in answer.headers["allow"]


async def test_a_full_ingress_asks_the_sender_to_come_again(gateway: Gateway) -> None:
    jetstream = gateway.nats.jetstream()
    config = (await jetstream.stream_info(INGRESS)).config
    config.max_bytes = 1
    await jetstream.update_stream(config)
    answer = await gateway.send(BODY, signed(BODY))
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0
    assert answer.json()["code"] == "not_stored"
    config.max_bytes = 1_000_000
    await jetstream.update_stream(config)
    assert (await gateway.send(BODY, signed(BODY))).status_code == 202


async def test_the_manifest_in_force_is_shown_to_those_with_a_token(gateway: Gateway) -> None:
    assert (await gateway.http.get("/v1/manifest")).status_code == 401
    headers = {"authorization": f"Bearer {ADMIN_TOKEN}"}
    shown = (await gateway.http.get("/v1/manifest", headers=headers)).json()
    assert shown[TENANT]["version"] == 1
    assert (await gateway.http.get("/readyz")).json()["status"] == "ready"
    assert (await gateway.http.get("/openapi.json")).status_code == 401
    described = (await gateway.http.get("/openapi.json", headers=headers)).json()
    assert {"/in/{endpoint_token}", "/v1/manifest", "/v1/explain/{identifier}"} <= described["paths"].keys()


async def test_a_stop_answers_what_was_accepted(gateway: Gateway) -> None:
    sending = [
        asyncio.create_task(gateway.send(body, signed(body))) for body in (b'{"n":%d}' % n for n in range(50))
    ]
    await asyncio.wait(sending, return_when=asyncio.FIRST_COMPLETED)
    gateway.stop.set()
    answers = await asyncio.gather(*sending, return_exceptions=True)
    accepted = [a for a in answers if isinstance(a, httpx.Response) and a.status_code == 202]
    stored = {envelope.receiptid for envelope in await gateway.stored()}
    assert accepted
    assert {str(from_people(answer.json()["id"])[1]) for answer in accepted} <= stored


async def test_a_deleted_stream_is_named_and_its_return_noticed(gateway: Gateway, eventually: Wait) -> None:
    jetstream = gateway.nats.jetstream()
    await jetstream.delete_stream(INGRESS)
    answer = await gateway.http.get("/readyz")
    assert answer.status_code == 503
    checks = answer.json()["checks"]
    assert [name for name, state in checks.items() if state != "ok"] == [INGRESS]
    assert checks[INGRESS].startswith("the stream INGRESS does not exist")
    refused = await gateway.send(BODY, signed(BODY))
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")

    await jetstream.delete_stream(bus.BUCKET_STREAM)
    checks = (await gateway.http.get("/readyz")).json()["checks"]
    assert checks[bus.MANIFESTS].startswith("the bucket sereno_manifests does not exist")

    assert list(await bus.make_missing(jetstream)) == [INGRESS, bus.MANIFESTS]

    async def ready() -> bool:
        return (await gateway.http.get("/readyz")).status_code == 200

    await eventually(ready)
    assert (await gateway.send(BODY, signed(BODY))).status_code == 202
    assert len(await gateway.stored()) == 1


async def test_a_port_in_use_is_named(settings: Callable[[str], Settings]) -> None:
    with http_server.bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        there = settings("gateway").model_copy(update={"execution_port": port})
        with pytest.raises(CommandError, match=f"127.0.0.1:{port}"):
            await gateway_process.run(there, asyncio.Event())


async def test_1000_webhooks_over_32_connections_are_all_stored_in_few_messages(gateway: Gateway) -> None:
    waiting = [orjson.dumps(ISSUE | {"number": number, "text": "x" * 400}) for number in range(1000)]
    statuses: list[int] = []

    async def connection() -> None:
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=1)
        async with httpx.AsyncClient(base_url=gateway.http.base_url, timeout=30, limits=limits) as client:
            while waiting:
                body = waiting.pop()
                answer = await client.post("/in/in-hub", content=body, headers=signed(body))
                statuses.append(answer.status_code)

    await asyncio.gather(*(connection() for _ in range(32)))
    assert statuses == [202] * 1000
    stored = await gateway.stored()
    assert sorted(envelope.data["number"] for envelope in stored) == list(range(1000))  # type: ignore[index]
    assert (await gateway.nats.jetstream().stream_info(INGRESS)).state.messages < 500


async def test_previews_are_answered_to_whoever_has_a_token(gateway: Gateway) -> None:
    bearer = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
    daily = {"dtstart": "2026-03-08T02:30", "tzid": "America/New_York", "rrule": "FREQ=DAILY", "limit": 1}
    answers = [
        await gateway.http.post(path, json=question, headers=bearer)
        for path, question in (
            ("/v1/schedule/preview", daily),
            ("/v1/schedule/preview", {**daily, "rrule": "FREQ=DAILY;INTERVAL=0"}),
            ("/v1/calendar/preview", {"ics": "BEGIN:VCALENDAR\nEND:VCALENDAR\n"}),
            ("/v1/calendar/preview", {"ics": "nothing"}),
        )
    ]
    assert [answer.status_code for answer in answers] == [200, 422, 200, 422]
    assert answers[0].json() == {"instants": ["2026-03-08T07:30:00Z"]}
    assert answers[1].json()["code"] == "bad_rule"
    assert answers[2].json() == {"fires": []}
    assert answers[3].json()["code"] == "bad_calendar"
    assert (await gateway.http.post("/v1/schedule/preview", json=daily)).status_code == 401
