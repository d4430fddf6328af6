"""Large data of a webhook: on disk once, referenced by its envelope, read by those who may."""

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

import httpx
import orjson
import pytest
from nats.aio.client import Client

from sereno.envelope.decode import loads_batch
from sereno.envelope.encode import flat
from sereno.envelope.envelope import Envelope
from sereno.envelope.identifiers import to_people
from sereno.execution_plane import gateway_process
from sereno.execution_plane.large_data.forgetting import forget
from sereno.mailbox.bearer import LeaseBearers
from sereno.mailbox.client import MailboxRefusedError
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.engine import http_server
from sereno.mailbox.engine.bus import INGRESS
from sereno.mailbox.engine.settings import Settings
from sereno.mailbox.worker import Delivery, Worker
from tests.integration.execution_plane.declaring import (
    ADMIN_TOKEN,
    TENANT,
    Declarer,
    admin_token,
    declare,
    endpoint,
    token_hash,
)
from tests.mailbox_messages import message

Wait = Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]
KEY = b"it is a secret"
WORKER, ELSEWHERE = "srn_" + "w" * 43, "srn_" + "e" * 43
BODY = orjson.dumps({"text": "x" * 100_000})
# One event held with its cause, and one in an open batch.
WAITS = """
with receipts as (
    insert into execution.receipt (tenant_id, receiptid, origin, type, recordedtime, envelope)
    values
        ($1, $2, 'webhook/hub', 't', now(), json_build_object('dataref', $4::text)::jsonb),
        ($1, $3, 'webhook/hub', 't', now(), json_build_object('dataref', $5::text)::jsonb)
), verdicts as (
    insert into execution.verdict (
        tenant_id, receiptid, subscription, subscription_version, outcome, guard, reason, guards, recorded_clock, database_clock
    ) values ($1, $2, 'watch', 1, 'held', 'delivery', 'stopped', '[]', now(), now())
), batches as (
    insert into execution.batch (tenant_id, id, subscription, key, opened, items, size, ancestors, due_at)
    values ($1, $3, 'watch', '', now(), 1, 1, '[]', now())
)
insert into execution.batch_item (tenant_id, batch_id, place, receiptid) values ($1, $3, 1, $3)
"""
FORM_DATA = 'multipart/form-data; boundary="a b"'
FILES = ["application/octet-stream", "multipart/form-data", "text/plain"]


@dataclass(frozen=True)
class Gateway:
    """A running gateway and what it stored."""

    http: httpx.AsyncClient
    nats: Client
    lease_key: bytes

    async def post(self, body: bytes, hook: str = "hub", kind: str = "application/json") -> httpx.Response:
        signature = hmac.digest(KEY, body, hashlib.sha256).hex()
        headers = {"content-type": kind, "x-hub-signature-256": f"sha256={signature}"}
        return await self.http.post(f"/in/in-{hook}", content=body, headers=headers)

    async def send(self, body: bytes, hook: str = "hub", kind: str = "application/json") -> Envelope:
        answer = await self.post(body, hook, kind)
        assert answer.status_code == 202, answer.text
        state = (await self.nats.jetstream().stream_info(INGRESS)).state
        last = await self.nats.jetstream().get_msg(INGRESS, state.last_seq)
        return loads_batch(last.data or b"")[-1]

    async def read(self, reference: str | None, token: str, **query: str) -> httpx.Response:
        assert reference is not None
        return await self.http.get(reference, params=query, headers={"authorization": f"Bearer {token}"})


@pytest.fixture
async def gateway(
    declarer: Declarer,
    operator: Client,
    settings: Callable[[str], Settings],
    eventually: Wait,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Gateway]:
    monkeypatch.setenv("HOOK_SECRET", KEY.decode())
    bound = {"principal": "agent:triage", "scopes": ["agent:triage"]}
    await declarer.publish(
        admin_token(),
        endpoint("hub", "in-hub", max_body=10_000_000),
        endpoint("files", "in-files", max_body=10_000_000, preset="none", content_types=FILES),
        declare("Agent", "triage", {"owner": "user:marta", "adapter": "pull"}),
        declare("Token", "worker", bound, token_sha256=token_hash(WORKER)),
    )
    foreign = {"principal": "user:else", "scopes": []}
    await declarer.publish(
        declare("Token", "else", foreign, tenant="other", token_sha256=token_hash(ELSEWHERE)), tenant="other"
    )
    listening = http_server.bind("127.0.0.1", 0)
    monkeypatch.setattr(http_server, "bind", lambda _host, _port: listening)
    stop, own = asyncio.Event(), settings("gateway")
    process = asyncio.create_task(gateway_process.run(own, stop))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    assert own.lease_key_file is not None
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:

        async def knows() -> bool:
            assert not process.done(), process.exception()
            answers = [
                await client.get("/v1/manifest", headers={"authorization": f"Bearer {token}"})
                for token in (ADMIN_TOKEN, ELSEWHERE)
            ]
            return all(answer.status_code == 200 for answer in answers)

        await eventually(knows)
        yield Gateway(client, operator, own.lease_key_file.read_bytes())
        stop.set()
        await process


@pytest.mark.req(44)
async def test_large_data_is_referenced_kept_once_and_read_whole(gateway: Gateway, pool: AnyPool) -> None:
    one, again = await gateway.send(BODY), await gateway.send(BODY)
    assert (one.data, one.dataref) == (None, again.dataref)
    assert one.receiptid != again.receiptid
    assert await pool.fetchval("SELECT count(*) FROM execution.large_data WHERE tenant_id = $1", TENANT) == 1
    answer = await gateway.read(one.dataref, ADMIN_TOKEN)
    assert answer.status_code == 200
    assert answer.json() == orjson.loads(BODY)
    assert answer.headers["x-content-type-options"] == "nosniff"
    small = await gateway.send(b'{"text":"y"}')
    assert (small.data, small.dataref) == ({"text": "y"}, None)


@pytest.mark.req(45)
async def test_who_may_not_read_is_told_in_one_word(gateway: Gateway, pool: AnyPool) -> None:
    envelope = await gateway.send(BODY)
    reference = str(envelope.dataref)
    carrier, other = message(envelopes=[flat(envelope)]), message(agent="else", envelopes=[flat(envelope)])
    async with pool.acquire() as connection, connection.transaction():
        await deposit(connection, [carrier, other, idle := message()])
    expected = {
        (ADMIN_TOKEN, None): 200,
        (WORKER, carrier.id): 200,
        (WORKER, None): 403,
        (WORKER, other.id): 403,
        (WORKER, idle.id): 403,
        (ELSEWHERE, None): 404,
        (LeaseBearers(gateway.lease_key).issue(4711), carrier.id): 403,
        ("srn_nobody", None): 401,
    }
    for (token, named), status in expected.items():
        query = {} if named is None else {"message": to_people("msg", named)}
        answer = await gateway.read(reference, token, **query)
        assert (token, named, answer.status_code) == (token, named, status)
        if status == 403:
            assert answer.json()["code"] == "data_denied"
    unknown = await gateway.read(reference[:-64] + "0" * 64, ADMIN_TOKEN)
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")


async def test_the_bearer_of_a_lease_reads_what_its_message_carries(gateway: Gateway, pool: AnyPool) -> None:
    envelope = await gateway.send(BODY)
    async with pool.acquire() as connection, connection.transaction():
        await deposit(connection, [message(envelopes=[flat(envelope)])])
    claimed = await gateway.http.post(
        "/v1/mailboxes/triage/claim",
        json={"max": 1, "lease_seconds": 60, "incarnation": "w-1"},
        headers={"authorization": f"Bearer {WORKER}"},
    )
    assert claimed.status_code == 200, claimed.text
    (leased,) = claimed.json()["messages"]
    bearer = LeaseBearers(gateway.lease_key).issue(leased["lease"]["token"])
    assert (await gateway.read(envelope.dataref, bearer)).json() == orjson.loads(BODY)
    elsewhere = await gateway.send(orjson.dumps({"text": "z" * 100_000}))
    assert (await gateway.read(elsewhere.dataref, bearer)).json()["code"] == "data_denied"


@pytest.mark.req(44, 45)
async def test_megabytes_reach_the_worker_and_whoever_else_may_read(gateway: Gateway, pool: AnyPool) -> None:
    document = {"text": "é" * 1_500_000, "n": 1}
    raw = bytes(range(256)) * 8_000
    part = b'--a b\r\nContent-Disposition: form-data; name="f"\r\n\r\n' + raw + b"\r\n--a b--\r\n"
    latin = "ñ".encode("latin-1") * 70_000
    sent = [
        await gateway.send(orjson.dumps(document)),
        await gateway.send(raw, "files", "application/octet-stream"),
        await gateway.send(part, "files", FORM_DATA),
        await gateway.send(latin, "files", "text/plain; charset=iso-8859-1"),
    ]
    assert all(envelope.data is None and envelope.dataref is not None for envelope in sent)
    small = await gateway.send(b"\xff\x00", "files", "application/octet-stream")
    async with pool.acquire() as connection, connection.transaction():
        await deposit(connection, [message(envelopes=[flat(envelope) for envelope in [*sent, small]])])
    read: list[object] = []
    ended: list[object] = []
    worker = Worker(str(gateway.http.base_url), WORKER, once=True)

    @worker.agent("triage")
    async def handle(delivery: Delivery) -> None:
        read.extend([await delivery.data(envelope) for envelope in delivery.envelopes])
        with pytest.raises(MailboxRefusedError, match="no message that carries the reference"):
            await delivery.data({"dataref": f"/v1/data/public/{'0' * 64}"})
        with pytest.raises(MailboxRefusedError, match="kept by its source"):
            await delivery.data({"dataref": "https://example.com/large"})
        ended.append(await delivery.data({}))

    await worker.run(handle_signals=False)
    assert ended == [None]
    assert read == [document, raw, part, latin, b"\xff\x00"]
    answer = await gateway.read(sent[2].dataref, ADMIN_TOKEN)
    assert (answer.content, answer.headers["content-type"]) == (part, FORM_DATA)


async def test_only_attributes_have_to_fit_into_a_message(gateway: Gateway) -> None:
    event = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
    kind = "application/cloudevents+json"
    told = await gateway.post(orjson.dumps(event | {"subject": "x" * 1_000_000}), kind=kind)
    assert (told.status_code, told.json()["code"]) == (413, "too_large")
    envelope = await gateway.send(orjson.dumps(event | {"data": "x" * 5_000_000}), kind=kind)
    assert (await gateway.read(envelope.dataref, ADMIN_TOKEN)).json() == "x" * 5_000_000
    batch = [event | {"id": str(n), "data": "y" * 70_000 + str(n)} for n in range(30)]
    await gateway.send(orjson.dumps(batch), kind="application/cloudevents-batch+json")


@pytest.mark.req(44)
async def test_data_that_nothing_open_carries_is_forgotten(gateway: Gateway, pool: AnyPool) -> None:
    bodies = [orjson.dumps({"text": letter * 70_000}) for letter in "abcde"]
    open_one, closed, fresh, held, batched = [await gateway.send(body) for body in bodies]
    mine = message(envelopes=[flat(closed)])
    async with pool.acquire() as connection, connection.transaction():
        await deposit(connection, [message(envelopes=[flat(open_one)]), mine])
        await connection.execute("DELETE FROM mailbox.work WHERE id = $1", mine.id)
        await connection.execute(
            WAITS, TENANT, *map(UUID, (held.receiptid, batched.receiptid)), held.dataref, batched.dataref
        )
        await connection.execute("UPDATE execution.large_data SET kept_at = kept_at - interval '31 days'")
    assert (await gateway.send(bodies[2])).dataref == fresh.dataref
    assert [await forget(pool, page=1), await forget(pool)] == [1, 0]
    asked = {"message": to_people("msg", mine.id)}
    statuses = [
        (await gateway.read(envelope.dataref, token, **query)).status_code
        for envelope, token, query in (
            (open_one, ADMIN_TOKEN, {}),
            (fresh, ADMIN_TOKEN, {}),
            (held, ADMIN_TOKEN, {}),
            (batched, ADMIN_TOKEN, {}),
            (closed, ADMIN_TOKEN, {}),
            (closed, WORKER, asked),
        )
    ]
    assert statuses == [200, 200, 200, 200, 404, 410]
    assert (await gateway.send(bodies[1])).dataref == closed.dataref
    assert (await gateway.read(closed.dataref, WORKER, **asked)).status_code == 200
