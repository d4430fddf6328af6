"""The hot statements walk their indexes, with generic plans and a large backlog."""

from typing import Any

import pytest

from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries

ROWS = 30_000
FILL = """
with clock as (select clock_timestamp() as at), deposited as (
    insert into mailbox.message (
        tenant_id, id, agent, subscription, subscription_version, instruction, envelopes, priority, order_key,
        ready_at, max_attempts, lease_seconds, max_run_seconds, max_age_seconds, lineage, context, deposited_at
    )
    select
        'acme', gen_random_uuid(), 'triage', 's' || n % 20, 1, 'x', '[]', 0, n,
        clock.at + case when n % 2 = 0 then interval '1 day' else interval '-1 day' end,
        5, 60, 3600, 86400, '[]', '{}', clock.at
    from generate_series(1, $1::integer) as n, clock
    returning *
)
insert into mailbox.work (
    tenant_id, id, run_id, seq, agent, subscription, order_key, state, due, ready_at, max_attempts,
    lease_seconds, max_run_seconds, max_age_seconds
)
select
    tenant_id, id, id, seq, agent, subscription, order_key, 'ready', ready_at <= deposited_at, ready_at,
    max_attempts, lease_seconds, max_run_seconds, max_age_seconds
from deposited
"""
VERBS = queries.load("sereno.mailbox", "verbs.sql")
REAPER = queries.load("sereno.mailbox", "reaper.sql")
SAMPLES: dict[str, tuple[str, str]] = {
    "claim_batch": (VERBS["claim_batch"], "'acme', 'triage', 10, null, 'p', 'i'"),
    "renew_batch": (VERBS["renew_batch"], "array[1], array[null], null, null, null"),
    "ack_batch": (VERBS["ack_batch"], "array[1], array[null], array[null], null, null, null"),
    "release_batch": (
        VERBS["release_batch"],
        "array[1], array['x'], array[null]::float8[], null, null, null, 1, 900",
    ),
    "check_batch": (VERBS["check_batch"], "array[1], null, null"),
    "overdue_leases": (REAPER["overdue_leases"], "'-infinity', '00000000-0000-0000-0000-000000000000', 100"),
    "overdue_ages": (REAPER["overdue_ages"], "'-infinity', '00000000-0000-0000-0000-000000000000', 100"),
}


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", ()) for node in nodes(child))]


@pytest.mark.req(384)
async def test_no_hot_statement_reads_the_whole_table(pool: AnyPool) -> None:
    async with pool.acquire() as conn:
        await conn.execute(FILL, ROWS)
        await conn.execute("update mailbox.token_epoch set epoch = epoch")
        await conn.execute("analyze mailbox.work; analyze mailbox.message;")
        await conn.execute("set plan_cache_mode = force_generic_plan")
        for name, (sql, arguments) in SAMPLES.items():
            await conn.execute(f"prepare {name} as {sql}")
            async with conn.transaction():
                [row] = await conn.fetch(f"explain (format json) execute {name}({arguments})")
            found = nodes(row[0][0]["Plan"])
            scans = [node["Relation Name"] for node in found if node["Node Type"] == "Seq Scan"]
            assert not {"work", "message", "closed", "event"} & set(scans), (name, scans)


async def test_a_poll_stops_at_the_first_row_that_is_for_later(pool: AnyPool) -> None:
    async with pool.acquire() as conn:
        await conn.execute(FILL, ROWS)
        await conn.execute("delete from mailbox.work where due")
        await conn.execute("vacuum analyze mailbox.work")
        [row] = await conn.fetch(
            f"explain (analyze, format json) {VERBS['claim_batch']}", "acme", "triage", 10, None, "p", "i"
        )
        waiting = [node for node in nodes(row[0][0]["Plan"]) if node.get("Index Name") == "work_delayed"]
        assert len(waiting) == 1
        assert "ready_at <=" in waiting[0]["Index Cond"]
        assert waiting[0].get("Rows Removed by Filter", 0) == 0
        assert waiting[0]["Actual Rows"] == 0
