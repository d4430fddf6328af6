"""Both planes' chains over a real database: whatever is done to one behind its back is found and named."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import asyncpg
import pytest

from sereno.mailbox.audit import crossing, ledger
from sereno.mailbox.audit.chain import Head, canonical, hash_of
from sereno.mailbox.audit.ledger import Entry
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine.postgres import connect, open_pool
from tests.engines import Engines

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
PLANES = ["control", "execution"]
tenants = (f"tenant-{number}" for number in itertools.count())


@pytest.fixture
async def owner(module_engines: Engines) -> AsyncIterator[AnyConnection]:
    """Whoever owns the database and switches the triggers off."""
    connection = await connect(module_engines.dsn, application_name="tests")
    await connection.execute("set session_replication_role = replica")
    yield connection
    await connection.close()


async def opened(engines: Engines, plane: str) -> AnyPool:
    dsn = engines.control_dsn if plane == "control" else engines.execution_dsn
    return await open_pool(dsn, application_name="tests", max_size=8)


def entries(count: int, writer: int = 0) -> list[Entry]:
    return [Entry(NOW, f"user:{writer}", "tests.wrote", f"thing/{n}", {"n": n}) for n in range(count)]


async def faults(conn: AnyConnection, plane: str, tenant: str, *anchors: Head) -> list[tuple[str, int]]:
    report = await ledger.check(conn, plane, tenant, anchors)
    return [(fault.kind, fault.seq) for fault in report.faults]


@pytest.mark.parametrize("plane", PLANES)
@pytest.mark.req(299)
async def test_a_flipped_byte_a_deleted_row_and_a_cut_tail_are_named(
    module_engines: Engines, owner: AnyConnection, plane: str
) -> None:
    flipped, deleted, cut = next(tenants), next(tenants), next(tenants)
    pool = await opened(module_engines, plane)
    ends = {}
    for tenant in (flipped, deleted, cut):
        async with pool.acquire() as conn, conn.transaction():
            ends[tenant] = await ledger.append(conn, plane, tenant, entries(3))
            ends[tenant] = await ledger.append(conn, plane, tenant, entries(2))
        assert await faults(owner, plane, tenant) == []
    await pool.close()
    record = f"{plane}.audit_record"
    await owner.execute(
        f"update {record} set canonical = set_byte(canonical, 9, get_byte(canonical, 9) # 1)"
        " where tenant_id = $1 and seq = 3",
        flipped,
    )
    assert await faults(owner, plane, flipped) == [("changed", 3)]
    await owner.execute(f"delete from {record} where tenant_id = $1 and seq = 2", deleted)
    assert await faults(owner, plane, deleted) == [("missing", 2)]
    await owner.execute(f"delete from {record} where tenant_id = $1 and seq > 3", cut)
    assert await faults(owner, plane, cut) == [("cut", 4)]
    await owner.execute(
        f"update {plane}.audit_head h set seq = 3, hash = r.hash from {record} r"
        " where h.tenant_id = $1 and r.tenant_id = $1 and r.seq = 3",
        cut,
    )
    assert await faults(owner, plane, cut) == [], "the head was moved back with it"
    end = ends[cut]
    assert end is not None
    assert await faults(owner, plane, cut, end) == [("cut", 4)], "an end kept elsewhere shows it"


@pytest.mark.parametrize("plane", PLANES)
async def test_a_record_forked_in_while_others_append_is_named(
    module_engines: Engines, owner: AnyConnection, plane: str
) -> None:
    tenant = next(tenants)
    pool = await opened(module_engines, plane)
    async with pool.acquire() as conn, conn.transaction():
        await ledger.append(conn, plane, tenant, entries(1))
    forged = asyncio.Event()

    async def write(writer: int) -> int:
        written = 0
        while not forged.is_set() or written < 5:
            async with pool.acquire() as conn, conn.transaction():
                await ledger.append(conn, plane, tenant, entries(2, writer))
            written += 1
        return written

    async def forge() -> int:
        """Follow the first record a second time, past the head that orders writers and past the constraints."""
        await owner.execute(f"alter table {plane}.audit_record drop constraint audit_record_follows_one")
        try:
            first = await owner.fetchval(
                f"select hash from {plane}.audit_record where tenant_id = $1 and seq = 1", tenant
            )
            content = canonical({"type": "tests.forged"})
            # Far ahead, where no writer is yet: its place is free, its predecessor is not.
            await owner.execute(
                f"insert into {plane}.audit_record values ($1, 1000000, $2, $3, $4)",
                tenant,
                first,
                hash_of(1_000_000, first, content),
                content,
            )
        finally:
            forged.set()
        return 1_000_000

    *written, place = await asyncio.gather(*(write(writer) for writer in range(4)), forge())
    await pool.close()
    try:
        found = await faults(owner, plane, tenant)
        end = 1 + 2 * sum(written)
        assert found[0] == ("missing", end + 1)
        assert ("forked", place + 1) in found
        # The same record right behind the end follows another than the one before it.
        await owner.execute(
            f"update {plane}.audit_record set seq = $2 where tenant_id = $1 and seq = 1000000",
            tenant,
            end + 1,
        )
        assert ("forked", end + 1) in await faults(owner, plane, tenant)
    finally:
        await owner.execute(
            f"delete from {plane}.audit_record where tenant_id = $1 and seq > $2", tenant, end
        )
        await owner.execute(
            f"alter table {plane}.audit_record add constraint audit_record_follows_one unique (tenant_id, prev)"
        )


@pytest.mark.parametrize("plane", PLANES)
async def test_the_planes_own_role_can_only_append(module_engines: Engines, plane: str) -> None:
    tenant = next(tenants)
    pool = await opened(module_engines, plane)
    async with pool.acquire() as conn:
        await ledger.append(conn, plane, tenant, entries(1))
        for statement in (
            f"update {plane}.audit_record set tenant_id = 'x'",
            f"delete from {plane}.audit_record",
            f"truncate {plane}.audit_record",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await conn.execute(statement)
    await pool.close()
    superuser = await connect(module_engines.dsn, application_name="tests")
    for statement in (f"update {plane}.audit_record set seq = 9", f"truncate {plane}.audit_record"):
        with pytest.raises(asyncpg.RaiseError, match="append-only"):
            await superuser.execute(statement)
    await superuser.close()


async def test_each_planes_end_stands_in_the_others_chain_and_they_come_to_rest(
    module_engines: Engines, owner: AnyConnection
) -> None:
    tenant = next(tenants)
    await ledger.append(owner, "control", tenant, entries(4))
    await ledger.append(owner, "execution", tenant, entries(3))

    async def cross(from_plane: str, to_plane: str) -> bool:
        ends = await crossing.ends(owner, from_plane, tenant)
        return tenant in ends and await crossing.anchor(
            owner, to_plane, tenant, ends[tenant], other=from_plane, at=NOW, key_id="k"
        )

    control_end = (await crossing.ends(owner, "control", tenant))[tenant]
    assert await cross("control", "execution")
    assert not await cross("control", "execution"), "once"
    assert not await cross("execution", "control"), "an end that is an anchor says nothing new"
    await ledger.append(owner, "execution", tenant, entries(1))
    assert await cross("execution", "control")
    assert not await cross("control", "execution"), "and so they come to rest"
    [kept] = await crossing.anchors(owner, "execution", tenant)
    assert (kept.plane, kept.head, kept.record) == ("control", control_end, 4)
    assert [found.head.seq for found in await crossing.anchors(owner, "control", tenant)] == [5]

    # Somebody makes the control plane's chain anew from its second record on, hashes, head and all.
    for table in ("audit_record", "audit_salt"):
        await owner.execute(f"delete from control.{table} where tenant_id = $1 and seq > 1", tenant)
    await owner.execute(
        "update control.audit_head h set seq = 1, hash = r.hash from control.audit_record r"
        " where h.tenant_id = $1 and r.tenant_id = $1 and r.seq = 1",
        tenant,
    )
    await ledger.append(owner, "control", tenant, entries(6, writer=9))
    assert await faults(owner, "control", tenant) == [], "alone it looks whole"
    assert await faults(owner, "control", tenant, kept.head) == [("changed", 4)], (
        "the other plane knows better"
    )


async def test_a_chain_appended_by_the_function_is_the_chain_that_python_makes(owner: AnyConnection) -> None:
    tenant = next(tenants)
    await ledger.append(owner, "execution", tenant, entries(2))
    records = await ledger.page(owner, "execution", tenant, 0)
    at = Head()
    for record in records:
        assert (record.prev, record.hash) == (at.hash, hash_of(record.seq, at.hash, record.canonical))
        at = Head(record.seq, record.hash)
