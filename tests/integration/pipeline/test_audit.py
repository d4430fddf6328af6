"""The execution plane's own chain: what its guards decide, what people do to messages, and the other plane's ends."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fastapi import FastAPI

from sereno.execution_plane.audit import PLANE
from sereno.execution_plane.audit.crossing import Crossing
from sereno.execution_plane.audit.http import Signed
from sereno.execution_plane.audit.http import router as audit_router
from sereno.execution_plane.audit.sequencing import Sequencer
from sereno.mailbox.audit import checkpoint
from sereno.mailbox.audit.checkpointing import Checkpointer
from sereno.mailbox.audit.intents import intents
from sereno.mailbox.audit.keys import AuditKey, TrustedKey, key_id
from sereno.mailbox.bearer import LeaseBearers
from sereno.mailbox.engine import problems
from sereno.mailbox.http import router as mailbox_router
from sereno.mailbox.http.authentication import Callers
from sereno.mailbox.principal import Principal
from sereno.mailbox.verbs import Mailbox
from sereno.subscriptions.report import AuditEndReport, loads
from sereno.subscriptions.snapshot import AuditEnd
from tests.integration.pipeline.conftest import Plane
from tests.integration.pipeline.test_consumer import consume
from tests.passages import TENANT, declared, received

PRIVATE = Ed25519PrivateKey.generate()
KEY = AuditKey(PRIVATE, key_id(PRIVATE.public_key()))
AGENT = "support-triage"


@pytest.fixture
async def client(plane: Plane, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Audit and mailbox routes of this plane, for whoever the header names."""
    who = {
        "marta": Principal("user:marta", TENANT, rights=frozenset({"read", "audit"})),
        "worker": Principal("agent:support-triage", TENANT, frozenset({AGENT}), rights=frozenset()),
        "stranger": Principal("user:eve", "umbrella", rights=frozenset({"read", "audit"})),
    }

    async def authenticate(bearer: str) -> Principal | None:
        return who.get(bearer)

    app = FastAPI()
    problems.install(app)
    mailbox = Mailbox(plane.pool)
    bearers = LeaseBearers(bytes(32))
    app.include_router(
        mailbox_router(
            mailbox,
            authenticate,
            bearers=bearers,
            knows_agent=lambda _t, _a: True,
            intent=intents(plane.pool, PLANE),
        )
    )
    signed = Signed(tmp_path / "checkpoints.jsonl", {KEY.id: TrustedKey(PRIVATE.public_key())})
    app.include_router(audit_router(plane.pool, signed, Callers(authenticate, bearers).member))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app, raise_app_exceptions=False), base_url="http://execution"
    ) as client:
        yield client


def bearer(name: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {name}"}


async def records(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    answer = await client.get("/v1/audit/records", headers=bearer("marta"))
    assert answer.is_success, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


@pytest.mark.req(292, 299)
async def test_decisions_and_peoples_deeds_are_chained_signed_and_walked(
    plane: Plane, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    await plane.in_force(declared("one"), declared("two"))
    await plane.publish(received(1), received(2), received(3, event_id="e-1"))
    await consume(plane)
    sequencer = Sequencer(plane.pool)
    assert [await sequencer.sequence(), await sequencer.sequence()] == [6, 0], "each once"
    [record] = await records(client)
    assert (record["actor"], record["type"]) == ("svc:guards", "guards.decided")
    said = record["said"]["decisions"]
    told = sorted((one["subscription"], one["reason"]) for one in said)
    reasons = ["delivered", "delivered", "duplicate"]
    assert told == [(name, reason) for name in ("one", "two") for reason in reasons]
    assert all(one["message"].startswith("msg_") for one in said if one["outcome"] == "delivered")

    path = f"/v1/mailboxes/{AGENT}/dead-letter"
    body: dict[str, Any] = {"reason": "a test of Eva Luna", "filter": {}}
    preview = await client.post(path, json={**body, "preview": True}, headers=bearer("marta"))
    assert preview.json() == {"count": 4}
    assert len(await records(client)) == 1, "a look is no deed"
    assert (await client.post(path, json=body, headers=bearer("marta"))).json() == {"count": 4}
    *_, deed = await records(client)
    assert (deed["actor"], deed["type"], deed["subject"]) == (
        "user:marta",
        "mailbox.dead_lettered",
        f"mailbox/{AGENT}",
    )
    assert "Eva Luna" not in deed["canonical"], "data stands in the chain as a commitment only"

    keeper = Checkpointer(plane.pool, PLANE, KEY, tmp_path / "checkpoints.jsonl")
    assert [await keeper.take(), await keeper.take()] == [True, False]
    whole = (await client.get("/v1/audit/verify", headers=bearer("marta"))).json()
    assert (whole["plane"], whole["whole"], whole["records"], whole["checkpoints"]) == (
        "execution",
        True,
        2,
        1,
    )
    held = {"held": f"2:{hashlib.sha256(b'other').hexdigest()}"}
    broken = (await client.get("/v1/audit/verify", params=held, headers=bearer("marta"))).json()
    assert [(fault["kind"], fault["seq"]) for fault in broken["faults"]] == [("changed", 2)]


@pytest.mark.req(293)
async def test_what_cannot_be_recorded_is_not_done(plane: Plane, client: httpx.AsyncClient) -> None:
    await plane.in_force(declared("one"))
    await plane.publish(received(1))
    await consume(plane)
    await plane.pool.execute("insert into execution.audit_head values ($1, 7, $2)", TENANT, bytes(32))
    # The place behind the head is taken: nothing can be appended any more.
    await plane.pool.execute(
        "insert into execution.audit_record values ($1, 8, $2, $2, '{}')", TENANT, bytes(32)
    )
    answer = await client.post(
        f"/v1/mailboxes/{AGENT}/dead-letter",
        json={"reason": "tests", "filter": {}},
        headers=bearer("marta"),
    )
    assert answer.status_code == 500
    [row] = await plane.rows("select state from mailbox.standing")
    assert row["state"] == "ready"


@pytest.mark.parametrize("path", ["verify", "records", "anchors"])
async def test_who_may_not_audit_is_told_so(client: httpx.AsyncClient, path: str) -> None:
    for name, tenant in (("worker", None), ("stranger", TENANT), ("marta", "umbrella")):
        answer = await client.get(
            f"/v1/audit/{path}", params={"tenant": tenant} if tenant else {}, headers=bearer(name)
        )
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


async def test_a_decision_that_is_made_again_is_chained_again(
    plane: Plane, client: httpx.AsyncClient
) -> None:
    await plane.in_force(declared("one"))
    await plane.publish(received(1))
    await consume(plane)
    await Sequencer(plane.pool).sequence()
    await plane.pool.execute("update execution.verdict set reason = 'later', xid = default")
    await Sequencer(plane.pool).sequence()
    reasons = [record["said"]["decisions"][0]["reason"] for record in await records(client)]
    assert reasons == ["delivered", "later"]


async def test_the_manifests_end_is_anchored_and_this_planes_end_is_told_signed(
    plane: Plane, client: httpx.AsyncClient
) -> None:
    crossing = Crossing(plane.pool, plane.catalog, KEY)
    digest = hashlib.sha256(b"a record of the control plane").hexdigest()
    await plane.in_force(declared("one"), audit=AuditEnd(seq=12, hash=digest))
    assert [await crossing.anchor(), await crossing.anchor()] == [1, 0]
    anchors = (await client.get("/v1/audit/anchors", headers=bearer("marta"))).json()["items"]
    assert [(one["plane"], one["seq"], one["hash"], one["record"]) for one in anchors] == [
        ("control", 12, digest, 1)
    ]
    assert await crossing.tell() == 0, "an anchor is nothing to tell"
    await plane.publish(received(1))
    await consume(plane)
    await Sequencer(plane.pool).sequence()
    assert [await crossing.tell(), await crossing.tell()] == [1, 0]
    row = await plane.pool.fetchrow(
        "select subject, payload from execution.outbox order by position desc limit 1"
    )
    assert row is not None
    assert row["subject"] == f"sereno.reports.execution.{TENANT}"
    report = loads(row["payload"])
    assert isinstance(report, AuditEndReport)
    found = checkpoint.read(report.signed.encode(), {KEY.id: PRIVATE.public_key()})
    assert isinstance(found, checkpoint.Checkpoint)
    [last] = (await records(client))[-1:]
    assert {tenant: (head.seq, head.hash.hex()) for tenant, head in found.heads.items()} == {
        TENANT: (2, last["hash"])
    }
    assert orjson.loads(last["canonical"])["type"] == "guards.decided"
