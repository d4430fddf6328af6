"""Webhooks that others reported as lost, doubled or forged, on one running gateway and pipeline (wake-ups, group C)."""

import asyncio
import base64
import json
import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import orjson
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from sereno.envelope.identifiers import from_people
from sereno.execution_plane import gateway_process, pipeline_process
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import bus, http_server
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.engine.settings import Settings
from sereno.subscriptions.sealed import seal
from sereno.subscriptions.snapshot import dump_public_key
from tests.engines import Engines
from tests.integration.execution_plane.declaring import (
    ADMIN_TOKEN,
    KEY_ID,
    TENANT,
    Declarer,
    admin_token,
    declare,
    endpoint,
    subscription,
    token_hash,
)
from tests.webhook_senders import BASE64_SECRETS, HEX_KEYS, SECRETS, SENDERS, Sender, mac, standard

pytestmark = pytest.mark.asyncio(loop_scope="module")
ADMIN = {"authorization": f"Bearer {ADMIN_TOKEN}"}
JSON = ("content-type", "application/json")
STRANGER_BODY = {
    "type": "about:blank",
    "title": "unauthenticated",
    "status": 401,
    "code": "unauthenticated",
    "detail": "the endpoint or the signature is not known here",
}
FILES = ["application/octet-stream", "multipart/form-data", "text/plain", "application/json"]
SEALED_SECRET = "made by sereno, and sealed"
ENDPOINTS: dict[str, dict[str, Any]] = {
    "hub": {"scheme": "github"},
    "plain": {"scheme": "hmac", "header": "X-Signature", "prefix": "v1="},
    "r1": {"scheme": "standard", "secrets": ["env:BASE64"]},
    "r2": {"scheme": "standard", "secrets": ["env:BASE64"]},
    "stripe": {"scheme": "stripe"},
    "slack": {"scheme": "slack"},
    "discord": {"scheme": "discord", "secrets": ["env:PUBLIC"]},
    "blank": {"scheme": "github", "secrets": ["env:BLANK"]},
    "absent": {"scheme": "github", "secrets": ["env:ABSENT"]},
    "small": {"scheme": "github", "max_body": 10},
    "slow": {"scheme": "github", "rate": "2/hour"},
    "elsewhere": {"scheme": "github", "allow_ips": ["192.0.2.0/24"]},
    "files": {"scheme": "github", "preset": "none", "content_types": FILES},
    "mapped": {
        "scheme": "hmac",
        "header": "X-Signature",
        "prefix": "v1=",
        "mapping": {
            "type": '"com.example." + body.kind',
            "subject": "body.ticket.number",
            "actor": "body.from",
            "verified": 'body.dmarc == "pass"',
            "time": "body.at",
            "id": "body.event",
            "data": ["ticket.title", "kind"],
        },
    },
}


class Clock:
    """The gateway's clock, which a test may put forward."""

    ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


CLOCK = Clock()


@dataclass
class Hooks:
    """A running gateway and pipeline, and what they keep."""

    http: httpx.AsyncClient
    pool: AnyPool

    async def post(
        self, name: str, headers: Sequence[tuple[str, str]], body: bytes, token: str | None = None
    ) -> httpx.Response:
        return await self.http.post(f"/in/{token or 'in-' + name}", content=body, headers=list(headers))

    async def accepted(self, name: str, headers: Sequence[tuple[str, str]], body: bytes) -> str:
        """Send, and wait until it is decided: the receipt."""
        answer = await self.post(name, headers, body)
        assert answer.status_code == 202, answer.text
        receipt = str(from_people(answer.json()["id"])[1])
        await self.decided(receipt)
        return receipt

    async def decided(self, receipt: str) -> None:
        until = asyncio.get_running_loop().time() + 60
        while not await self.reasons(receipt):
            assert asyncio.get_running_loop().time() < until, "it was never decided"
            await asyncio.sleep(0.02)

    async def reasons(self, *receipts: str) -> list[str]:
        """What became of each receipt, in order."""
        rows = await self.pool.fetch(
            "select receiptid, reason from execution.verdict where receiptid = any($1::uuid[])",
            [UUID(receipt) for receipt in receipts],
        )
        found = {str(row["receiptid"]): row["reason"] for row in rows}
        return [found[receipt] for receipt in receipts if receipt in found]

    async def envelope(self, receipt: str) -> dict[str, Any]:
        row = await self.pool.fetchval(
            "select envelope from execution.receipt where receiptid = $1", UUID(receipt)
        )
        return dict(row)

    async def messages(self, name: str) -> int:
        """How many times the endpoint's subscription woke its agent."""
        return int(
            await self.pool.fetchval("select count(*) from mailbox.message where subscription = $1", name)
        )

    async def deliveries(self, name: str) -> list[dict[str, Any]]:
        answer = await self.http.get("/v1/deliveries", params={"endpoint": name}, headers=ADMIN)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["items"])


def sender(scheme: str, which: str = "") -> Sender:
    return next(one for one in SENDERS if one.scheme == scheme and one.id == which)


def now() -> int:
    return int(CLOCK().timestamp())


def signed(sender: Sender, body: bytes) -> list[tuple[str, str]]:
    return sender.headers(0, body, now())


def delivery(body: bytes, delivery_id: str) -> list[tuple[str, str]]:
    return [JSON, *standard("webhook", 0, body, now(), delivery_id)]


def declared(sealing: X25519PrivateKey) -> list[Any]:
    bound = f"{TENANT}/sealed"
    text = seal(SEALED_SECRET.encode(), sealing.public_key(), X25519PrivateKey.generate(), bound_to=bound)
    hooks = {name: {"secrets": ["env:FIRST", "env:SECOND"]} | spec for name, spec in ENDPOINTS.items()}
    hooks["sealed"] = {"scheme": "github", "secrets": [text]}
    # Sealed for another endpoint: it does not open here.
    hooks["stolen"] = {"scheme": "github", "secrets": [text]}
    people = [
        {"origin": "webhook/hub", "actor": "marta", "principal": "user:marta"},
        {"origin": "webhook/mapped", "actor": "marta@example.com", "principal": "user:marta"},
    ]
    return [
        admin_token(),
        declare("Tenant", TENANT, {"zone": "UTC", "identities": people}),
        declare("Agent", "triage", {"owner": "user:marta", "adapter": "pull"}),
        *(endpoint(name, f"in-{name}", **spec) for name, spec in hooks.items()),
        declare(
            "Endpoint",
            "paused",
            {"scheme": "github", "secrets": ["env:FIRST"]},
            state="paused",
            token_sha256=token_hash("in-paused"),
        ),
        *(subscription(name, {"webhook": {"endpoint": name}}) for name in [*hooks, "paused"]),
    ]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hooks(module_engines: Engines, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hooks]:
    folder, engines, sealing = tmp_path_factory.mktemp("hooks"), module_engines, X25519PrivateKey.generate()
    pem = sealing.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "sealing.pem").write_bytes(pem)
    nats = await bus.connect(engines.nats, name="tests", seed=engines.seed("control"))
    declarer, stop, patched = Declarer(nats), asyncio.Event(), pytest.MonkeyPatch()
    listening = http_server.bind("127.0.0.1", 0)
    for name, value in {
        "FIRST": SECRETS[0],
        "SECOND": SECRETS[1],
        "BASE64": BASE64_SECRETS[0],
        "PUBLIC": HEX_KEYS[0],
        "BLANK": "  ",
    }.items():
        patched.setenv(name, value)
    patched.setattr(gateway_process, "_now", CLOCK)
    # The pipeline listens first, for its probes, on a port of its own.
    bind = http_server.bind
    patched.setattr(http_server, "bind", lambda host, port: listening if port == 1 else bind(host, port))
    await declarer.publish(*declared(sealing))
    pool = await open_pool(engines.execution_dsn, application_name="tests", max_size=4)
    work = [
        asyncio.create_task(run(_settings(engines, declarer, folder, name), stop))
        for name, run in (("gateway", gateway_process.run), ("pipeline", pipeline_process.run))
    ]
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            await _until_known(client, work)
            yield Hooks(client, pool)
    finally:
        stop.set()
        await asyncio.gather(*work)
        await pool.close()
        await nats.close()
        patched.undo()


def _settings(engines: Engines, declarer: Declarer, folder: Path, process: str) -> Settings:
    seed = engines.seed(process)
    if seed is not None:
        (folder / f"{process}.nk").write_text(seed)
    keys, lease = folder / "keys.json", folder / "lease.key"
    keys.write_text(json.dumps({KEY_ID: dump_public_key(declarer.private_key.public_key())}))
    lease.write_bytes(secrets.token_bytes(32))
    return Settings(
        postgres=engines.execution_dsn,
        nats=engines.nats,
        nats_seed_file=folder / f"{process}.nk" if seed is not None else None,
        execution_port=1,
        manifest_keys_file=keys,
        lease_key_file=lease,
        sealing_key_file=folder / "sealing.pem",
    )


async def _until_known(client: httpx.AsyncClient, work: list["asyncio.Task[None]"]) -> None:
    until = asyncio.get_running_loop().time() + 60
    while True:
        assert not any(task.done() for task in work), [task for task in work if task.done()]
        known = await client.get("/v1/manifest", headers=ADMIN)
        if known.status_code == 200 and known.json():
            return
        assert asyncio.get_running_loop().time() < until
        await asyncio.sleep(0.05)


@pytest.mark.req(61)
async def test_c1_the_bytes_as_sent_are_verified_and_not_their_json(hooks: Hooks) -> None:
    body, again = '{"a": 1.0,  "b":"é"}'.encode(), '{"a":1.0,"b":"é"}'.encode()
    for scheme, name, which in (("github", "hub", ""), ("hmac", "plain", "hex")):
        headers = signed(sender(scheme, which), body)
        await hooks.accepted(name, headers, body)
        refused = await hooks.post(name, headers, again)
        assert (refused.status_code, refused.json()) == (401, STRANGER_BODY)


@pytest.mark.req(108)
async def test_c2_one_delivery_id_at_two_endpoints_wakes_twice_and_its_repetition_does_not(
    hooks: Hooks,
) -> None:
    body = b'{"type":"order.paid","data":{"n":2}}'
    first = [await hooks.accepted(name, delivery(body, "msg_c2"), body) for name in ("r1", "r2")]
    again = await hooks.accepted("r1", delivery(body, "msg_c2"), body)
    assert await hooks.reasons(*first, again) == ["delivered", "delivered", "duplicate"]
    assert (await hooks.envelope(first[0]))["dedupkey"] == "delivery:msg_c2"


@pytest.mark.req(108)
async def test_c3_the_same_body_without_an_id_two_hours_later_is_a_new_event(hooks: Hooks) -> None:
    body = b'{"temperature":21.5,"c":3}'
    headers = signed(sender("hmac", "hex"), body)
    first = await hooks.accepted("plain", headers, body)
    soon = await hooks.accepted("plain", headers, body)
    CLOCK.ahead += timedelta(hours=2)
    later = await hooks.accepted("plain", headers, body)
    assert await hooks.reasons(first, soon, later) == ["delivered", "duplicate", "delivered"]


@pytest.mark.req(108)
@pytest.mark.parametrize(
    ("scheme", "body"),
    [
        ("stripe", b'{"id":"evt_c4","object":"event","type":"invoice.paid"}'),
        ("slack", b'{"type":"event_callback","event":{"type":"message","user":"U1"}}'),
        ("discord", b'{"version":1,"type":1,"event":{"type":"ENTITLEMENT_CREATE","data":{}}}'),
    ],
)
async def test_c4_a_captured_request_ten_times_is_one_wake_up(scheme: str, body: bytes, hooks: Hooks) -> None:
    before = await hooks.messages(scheme)
    headers = signed(sender(scheme), body)
    forged = (
        [("x-github-delivery", f"{n}"), ("idempotency-key", f"{n}"), ("webhook-id", f"{n}")]
        for n in range(10)
    )
    receipts = [await hooks.accepted(scheme, [*headers, *more], body) for more in forged]
    assert await hooks.reasons(*receipts) == ["delivered", *["duplicate"] * 9]
    assert await hooks.messages(scheme) == before + 1


async def test_c5_without_a_secret_nobody_gets_in_also_who_signs_with_the_empty_key(hooks: Hooks) -> None:
    body = b'{"c":5}'
    for name in ("blank", "absent", "stolen"):
        for key in ("", "  ", SECRETS[0]):
            headers = [JSON, ("x-hub-signature-256", "sha256=" + mac(key, body).hex())]
            refused = await hooks.post(name, headers, body)
            assert (refused.status_code, refused.json()) == (401, STRANGER_BODY)
        assert await hooks.messages(name) == 0


@pytest.mark.req(108)
async def test_c6_a_retry_under_a_new_delivery_id_is_the_same_event(hooks: Hooks) -> None:
    body = b'{"object":"event","id":"evt_c6","type":"response.completed","created_at":1790000000}'
    first = await hooks.accepted("r1", delivery(body, "msg_d1"), body)
    retry = await hooks.accepted("r1", delivery(body, "msg_d2"), body)
    assert await hooks.reasons(first, retry) == ["delivered", "duplicate"]
    until = asyncio.get_running_loop().time() + 60
    while True:
        listed = {one for item in await hooks.deliveries("r1") for one in item["receipts"]}
        if {f"rcp_{UUID(one).hex}" for one in (first, retry)} <= listed:
            break
        assert asyncio.get_running_loop().time() < until
        await asyncio.sleep(0.05)
    outside = [json.loads((await hooks.envelope(one))["outside"]) for one in (first, retry)]
    assert [one["delivery_id"] for one in outside] == ["msg_d1", "msg_d2"]


async def test_strangers_all_read_the_same_and_the_operator_reads_why(hooks: Hooks) -> None:
    body = b'{"n":1}'
    good = dict(signed(sender("github"), body))
    strangers: list[tuple[str, dict[str, str]]] = [
        ("nobody", good),
        ("r1", good),
        ("paused", {**good, "x-hub-signature-256": "sha256=" + "0" * 64}),
        ("hub", {**good, "x-hub-signature-256": "sha256=" + "0" * 64}),
        ("hub", {"content-type": "application/json"}),
        ("hub", {**good, "content-type": "text/plain", "x-hub-signature-256": "x"}),
        ("small", {**good, "x-hub-signature-256": "x"}),
        ("elsewhere", good),
    ]
    answers = [await hooks.post(name, [*headers.items()], body) for name, headers in strangers]
    assert {(answer.status_code, answer.content) for answer in answers} == {
        (401, orjson.dumps(STRANGER_BODY))
    }
    names = {frozenset(answer.headers) for answer in answers}
    assert len(names) == 1
    until = asyncio.get_running_loop().time() + 60
    while not (shown := [one for one in await hooks.deliveries("elsewhere") if one["status"] == 401]):
        assert asyncio.get_running_loop().time() < until
        await asyncio.sleep(0.05)
    assert (shown[0]["verdict"], shown[0]["reason"]) == ("refused", "address_not_allowed")
    assert shown[0]["size"] == len(body)
    assert SECRETS[0] not in json.dumps(shown)


async def test_limits_are_told_to_who_signed_alone(hooks: Hooks) -> None:
    body = b'{"more":"than ten bytes"}'
    headers = signed(sender("github"), body)
    assert (await hooks.post("small", headers, body)).status_code == 413
    text = [("content-type", "text/plain"), *headers[1:]]
    assert (await hooks.post("hub", text, body)).status_code == 415
    answers = [await hooks.post("slow", headers, body) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [202, 202, 429]
    assert 1 <= int(answers[2].headers["retry-after"]) <= 1800
    assert answers[2].json()["code"] == "rate_limited"


async def test_a_paused_endpoint_takes_what_is_signed_and_wakes_nobody(hooks: Hooks) -> None:
    body = b'{"paused":true}'
    receipt = await hooks.accepted("paused", signed(sender("github"), body), body)
    assert await hooks.reasons(receipt) == ["not_active"]
    assert await hooks.messages("paused") == 0


async def test_a_question_is_answered_at_once_and_is_no_event(hooks: Hooks) -> None:
    asked = b'{"type":"url_verification","challenge":"3eZb"}'
    answer = await hooks.post("slack", signed(sender("slack"), asked), asked)
    assert (answer.status_code, answer.text) == (200, "3eZb")
    ping = b'{"version":1,"application_id":"1","type":0}'
    answer = await hooks.post("discord", signed(sender("discord"), ping), ping)
    assert (answer.status_code, answer.content) == (204, b"")
    wrong = [(name, value.replace("0", "1")) for name, value in signed(sender("discord"), ping)]
    assert (await hooks.post("discord", wrong, ping)).status_code == 401


async def test_a_sealed_secret_opens_for_its_own_endpoint(hooks: Hooks) -> None:
    body = b'{"sealed":1}'
    headers = [JSON, ("x-hub-signature-256", "sha256=" + mac(SEALED_SECRET, body).hex())]
    await hooks.accepted("sealed", headers, body)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/octet-stream", bytes(range(256))),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\ncontent-disposition: form-data; name="f"\r\n\r\n\xff\r\n--b--',
        ),
        ("text/plain; charset=iso-8859-1", b"se\xf1or"),
        ("application/json; charset=utf-16", '{"a":"ñ"}'.encode("utf-16")),
        ("application/octet-stream; name=empty", b""),
    ],
)
async def test_bytes_are_carried_as_they_are(kind: str, body: bytes, hooks: Hooks) -> None:
    headers = [("content-type", kind), ("x-hub-signature-256", "sha256=" + mac(SECRETS[0], body).hex())]
    kept = await hooks.envelope(await hooks.accepted("files", headers, body))
    assert base64.b64decode(kept["data_base64"]) == body
    assert (kept["datacontenttype"], "data" in kept) == (kind, False)
    assert (await hooks.post("files", headers, body + b" ")).status_code == 401


def _framed(body: bytes) -> bytes:
    return b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(
        b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:3], body[3:], b"")
    )


async def test_http_as_senders_and_strangers_speak_it(hooks: Hooks) -> None:
    body = b'{"action":"opened","spoken":1}'
    signature = "sha256=" + mac(SECRETS[0], body).hex()
    signed = f"Host: x\r\nContent-Type: application/json\r\nX-Hub-Signature-256: {signature}\r\n".encode()
    length = b"Content-Length: %d\r\n" % len(body)
    whole, post = length + b"\r\n" + body, b"POST /in/in-hub HTTP/1.1\r\n"
    spaced = signed.replace(b"256: ", b"256:\t  ").replace(signature.encode(), signature.encode() + b" \t")
    spoken: dict[bytes, int] = {
        post + signed + whole: 202,
        post + spaced + whole: 202,
        post + signed.replace(b"X-Hub", b"x-hUB") + whole: 202,
        post + signed.replace(b"/json", b'/json;charset="UTF-8"') + whole: 202,
        post + signed + _framed(body): 202,
        post.replace(b"1.1", b"1.0") + signed + whole: 202,
        post.replace(b"-hub", b"%2Dhub") + signed + whole: 202,
        post.replace(b"-hub", b"-hub?a=b") + signed + whole: 202,
        post + signed + f"X-Hub-Signature-256: {signature}\r\n".encode() + whole: 401,
        post + signed + b"\r\n": 401,
        post.replace(b"-hub", b"-HUB") + signed + whole: 401,
        post + signed + b"Content-Type: application/json\r\n" + whole: 415,
        post + signed + b"Content-Encoding: gzip\r\n" + whole: 415,
        post.replace(b"-hub", b"-hub/") + signed + whole: 404,
        post + signed + length + _framed(body): 400,
        post + signed + length + whole: 400,
        (post + signed + length + b"\r\n").replace(b"\r\n", b"\n") + body: 400,
    }
    for request, status in spoken.items():
        reader, writer = await asyncio.open_connection("127.0.0.1", hooks.http.base_url.port)
        writer.write(request)
        answer = await asyncio.wait_for(reader.readline(), 60)
        writer.close()
        assert (request, answer.split()[1]) == (request, str(status).encode())


@pytest.mark.req(38, 39, 40)
async def test_a_mapping_reads_the_event_out_of_the_body(hooks: Hooks) -> None:
    body = orjson.dumps(
        {
            "event": "e-1",
            "kind": "opened",
            "ticket": {"number": 7, "title": "It rains in", "phone": "555"},
            "from": "marta@example.com",
            "dmarc": "pass",
            "at": "2026-11-30T10:00:00+01:00",
        }
    )
    receipt = await hooks.accepted("mapped", signed(sender("hmac", "hex"), body), body)
    envelope = await hooks.envelope(receipt)
    expected = {
        "type": "com.example.opened",
        "subject": "7",
        "id": "e-1",
        "dedupkey": "hmac#e-1",
        "data": {"kind": "opened", "ticket": {"title": "It rains in"}},
        "actor": "marta@example.com",
        "actorid": "user:marta",
        "trust": "authenticated",
    }
    assert {name: envelope.get(name) for name in expected} == expected
    assert datetime.fromisoformat(envelope["time"]) == datetime(2026, 11, 30, 9, tzinfo=UTC)


@pytest.mark.req(184, 211, 238, 267)
@pytest.mark.parametrize(
    ("sent", "principal"),
    [
        ({"from": "marta@example.com", "dmarc": "pass"}, "user:marta"),
        ({"from": "marta@example.com", "dmarc": "fail"}, None),
        ({"from": "marta@example.com"}, None),
        ({"from": "Marta@example.com", "dmarc": "pass"}, None),
        ({"dmarc": "pass"}, None),
    ],
)
async def test_a_sender_is_somebody_only_when_known_and_proven(
    sent: dict[str, str], principal: str | None, hooks: Hooks
) -> None:
    body = orjson.dumps({"kind": "mail", "event": secrets.token_hex(8), **sent})
    receipt = await hooks.accepted("mapped", signed(sender("hmac", "hex"), body), body)
    envelope = await hooks.envelope(receipt)
    assert (envelope.get("actorid"), envelope.get("onbehalfof")) == (principal, principal)
    assert envelope["trust"] == ("untrusted" if principal is None else "authenticated")
    assert envelope.get("actor") == sent.get("from")


async def test_a_person_delivers_again_and_may_force_it(hooks: Hooks) -> None:
    body = orjson.dumps({"kind": "again", "event": "e-again"})
    first = await hooks.accepted("mapped", signed(sender("hmac", "hex"), body), body)
    repeated = []
    for force in (False, True):
        path = f"/v1/deliveries/rcp_{UUID(first).hex}/redeliver"
        answer = await hooks.http.post(path, json={"force": force}, headers=ADMIN)
        assert answer.status_code == 202, answer.text
        (pair,) = answer.json()["receipts"]
        assert from_people(pair["of"])[1] == UUID(first)
        repeated.append(str(from_people(pair["id"])[1]))
        await hooks.decided(repeated[-1])
    assert await hooks.reasons(first, *repeated) == ["delivered", "duplicate", "delivered"]
    envelopes = [await hooks.envelope(one) for one in (first, *repeated)]
    assert {one["id"] for one in envelopes} == {"e-again"}
    notes = json.loads(envelopes[2]["outside"])
    assert (notes["redelivery_of"], notes["redelivered_by"]) == (first, "user:admin")
    explained = await hooks.http.get(f"/v1/explain/rcp_{UUID(repeated[1]).hex}", headers=ADMIN)
    assert '"forced":true' in explained.text.replace(" ", "")
    assert (await hooks.http.get("/v1/deliveries")).status_code == 401
    unknown = await hooks.http.post(f"/v1/deliveries/{UUID(int=1)}/redeliver", json={}, headers=ADMIN)
    assert unknown.status_code == 404
