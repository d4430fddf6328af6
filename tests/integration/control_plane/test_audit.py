"""The audit chain over a real database: chained with what it records, and nobody can change it unnoticed."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.api import create_app
from sereno.control_plane.bootstrapping import bootstrap
from sereno.control_plane.minting import utc_now
from sereno.mailbox.audit import ledger
from sereno.mailbox.audit.checkpointing import Checkpointer
from sereno.mailbox.audit.keys import AuditKey, TrustedKey, key_id
from sereno.mailbox.audit.ledger import Entry
from sereno.mailbox.engine.postgres import connect
from tests.control_documents import ALL, subscription
from tests.engines import Engines

ADMIN = "srn_" + "f" * 43
PRIVATE = Ed25519PrivateKey.generate()
KEY = AuditKey(PRIVATE, key_id(PRIVATE.public_key()))


async def ready() -> dict[str, str | None]:
    return {}


@pytest.fixture
async def client(engine: AsyncEngine, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    await bootstrap(engine, hashlib.sha256(ADMIN.encode()).hexdigest())
    app = create_app(
        engine,
        execution_url="http://hooks.example",
        ready=ready,
        audit_keys={KEY.id: TrustedKey(PRIVATE.public_key())},
        checkpoints=tmp_path / "checkpoints.jsonl",
    )
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {ADMIN}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://control", headers=headers) as client:
        yield client


async def report(client: httpx.AsyncClient) -> Any:
    answer = await client.get("/v1/audit/verify")
    assert answer.is_success, answer.text
    return answer.json()


async def named(client: httpx.AsyncClient) -> list[tuple[str, int]]:
    return [(fault["kind"], fault["seq"]) for fault in (await report(client))["faults"]]


@pytest.fixture
async def owner(engines: Engines) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """Whoever owns the database and switches the triggers off."""
    connection = await connect(engines.dsn, application_name="tests")
    await connection.execute("set session_replication_role = replica")
    yield connection
    await connection.close()


@pytest.mark.req(292, 293, 299)
async def test_everything_done_is_chained_and_each_way_to_change_it_is_named(
    client: httpx.AsyncClient,
    engines: Engines,
    owner: "asyncpg.Connection[asyncpg.Record]",
    tmp_path: Path,
) -> None:
    assert (await client.post("/v1/apply", json={"documents": ALL})).is_success
    for verb in ("pause", "resume", "pause"):
        await client.post(f"/v1/subscriptions/refund-watch/{verb}", json={"reason": "tests"})
    whole = await report(client)
    assert (whole["whole"], whole["records"]) == (True, 6)
    page = (await client.get("/v1/audit/records")).json()
    assert [item["type"] for item in page["items"]][:3] == [
        "agent.declared",
        "endpoint.declared",
        "subscription.created",
    ]
    assert {item["actor"] for item in page["items"]} == {"user:admin"}
    assert "Draft a reply" not in json.dumps(page), "data stands in the chain as a commitment only"
    async with asyncpg.create_pool(engines.control_dsn, min_size=1, max_size=1) as pool:
        keeper = Checkpointer(pool, "control", KEY, tmp_path / "checkpoints.jsonl")
        assert [await keeper.take(), await keeper.take()] == [True, False]
    assert (await report(client))["checkpoints"] == 1

    kept = await owner.fetch("select * from control.audit_record where tenant_id = 'default' order by seq")

    async def restore() -> None:
        await owner.execute("delete from control.audit_record where tenant_id = 'default'")
        await owner.executemany(
            "insert into control.audit_record values ($1, $2, $3, $4, $5)", [tuple(row) for row in kept]
        )

    await owner.execute(
        "update control.audit_record set canonical = set_byte(canonical, 20, 0) where tenant_id = 'default' and seq = 3"
    )
    assert await named(client) == [("changed", 3)]
    await restore()
    await owner.execute("delete from control.audit_record where tenant_id = 'default' and seq = 2")
    assert await named(client) == [("missing", 2)]
    await restore()
    await owner.execute("delete from control.audit_record where tenant_id = 'default' and seq > 4")
    await owner.execute(
        "update control.audit_head h set seq = 4, hash = r.hash from control.audit_record r"
        " where h.tenant_id = 'default' and r.tenant_id = 'default' and r.seq = 4"
    )
    assert await named(client) == [("cut", 5)], "the head was moved back too: only the checkpoint shows it"
    await restore()
    await owner.execute(
        "update control.audit_record set prev = sha256('elsewhere') where tenant_id = 'default' and seq = 5"
    )
    assert ("forked", 5) in await named(client)


async def test_the_planes_own_role_can_only_append(engines: Engines, client: httpx.AsyncClient) -> None:
    await client.post("/v1/apply", json={"documents": ALL})
    connection = await connect(engines.control_dsn, application_name="tests")
    for table in ("audit_record", "event"):
        for statement in (f"update control.{table} set tenant_id = 'x'", f"delete from control.{table}"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(statement)
    await connection.close()
    superuser = await connect(engines.dsn, application_name="tests")
    for statement in ("update control.audit_record set seq = 9", "truncate control.audit_record"):
        with pytest.raises(asyncpg.RaiseError, match="append-only"):
            await superuser.execute(statement)
    await superuser.close()


@pytest.mark.req(293)
async def test_what_cannot_be_recorded_is_not_done(
    client: httpx.AsyncClient, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await client.post("/v1/apply", json={"documents": ALL})
    await owner.execute("set session_replication_role = origin")
    await owner.execute("alter table control.audit_record rename to audit_record_away")
    try:
        answer = await client.post("/v1/subscriptions/refund-watch/pause", json={"reason": "tests"})
        assert answer.status_code == 500
    finally:
        await owner.execute("alter table control.audit_record_away rename to audit_record")
    assert (await client.get("/v1/subscriptions/refund-watch")).json()["state"] == "active"


async def test_many_writers_make_one_chain_without_a_fork(
    engines: Engines, client: httpx.AsyncClient
) -> None:
    pool = await asyncpg.create_pool(engines.control_dsn, min_size=8, max_size=8)

    async def write(writer: int) -> None:
        for number in range(10):
            async with pool.acquire() as connection, connection.transaction():
                about = Entry(utc_now(), f"user:{writer}", "tests.wrote", f"{writer}/{number}", {"n": number})
                await ledger.append(connection, "control", "default", [about])

    await asyncio.gather(*(write(writer) for writer in range(8)))
    await pool.close()
    found = await report(client)
    assert (found["whole"], found["records"]) == (True, 80)


async def test_an_export_is_walked_without_a_server(client: httpx.AsyncClient, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from sereno.deploy.main import build

    await client.post("/v1/apply", json={"documents": subscription().replace("Subscription", "Unknown")})
    await client.post("/v1/apply", json={"documents": ALL})
    page = (await client.get("/v1/audit/records")).json()
    lines = [*page["items"], {"head": True, **page["head"]}]
    file = tmp_path / "export.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    good = CliRunner().invoke(build(), ["audit", "verify", "--file", str(file)])
    assert good.exit_code == 0
    assert good.stdout.startswith("control plane: whole: 3 records, the last is 3;")
    lines[1]["canonical"] = lines[1]["canonical"].replace("user:admin", "user:nobody")
    file.write_text("\n".join(json.dumps(line) for line in lines))
    bad = CliRunner().invoke(build(), ["audit", "verify", "--file", str(file)])
    assert bad.exit_code == 1
    assert "record 2: changed" in bad.stdout
