"""The hot statements walk their indexes, with a large backlog, most of it for later.

`SERENO_PLAN_ROWS=1000000` does it at full size (`make torture-plans`).
"""

import os
from typing import Any

import pytest

from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.readings import ALONG_INDEXES, MOST
from sereno.mailbox.limits import set_concurrency

ROWS = int(os.environ.get("SERENO_PLAN_ROWS", "30000"))
PAGE = 50_000
FILL = """
with clock as (select clock_timestamp() as at), box as (
    insert into mailbox.box (tenant_id, agent) values ('acme', 'triage') on conflict do nothing
), deposited as (
    insert into mailbox.message (
        tenant_id, id, agent, subscription, subscription_version, instruction, envelopes, priority, order_key,
        ready_at, max_attempts, lease_seconds, max_run_seconds, max_age_seconds, lineage, context, deposited_at
    )
    select
        'acme', gen_random_uuid(), 'triage', 's' || n % 20, 1, 'x', '[]', 0, n,
        clock.at + case when n % 100 <> 0 then interval '1 day' else interval '-1 day' end,
        5, 60, 3600, 86400, '[]', '{}', clock.at
    from generate_series($1::integer, $2::integer) as n, clock
    returning *
)
insert into mailbox.work (
    tenant_id, id, agent, subscription, order_key, state, due, ready_at, max_attempts, lease_seconds,
    max_run_seconds, max_age_seconds
)
select
    tenant_id, id, agent, subscription, order_key, 'ready', ready_at <= deposited_at, ready_at, max_attempts,
    lease_seconds, max_run_seconds, max_age_seconds
from deposited
"""
LIMIT = 200
VERBS = queries.load("sereno.mailbox", "verbs.sql")
GAUGES = queries.load("sereno.mailbox", "gauges.sql")
REAPER = queries.load("sereno.mailbox", "reaper.sql")
TOUCHED = """
select regexp_replace(relname, '_(default|\\d{8})$', '') as name, sum(seq_scan) as scans,
    sum(coalesce(idx_tup_fetch, 0)) as fetched
from pg_stat_xact_user_tables
where schemaname = 'mailbox'
group by 1
"""
HOT = {"work", "message", "dead"}


async def fill(conn: AnyConnection) -> None:
    """So many messages, all but every hundredth for tomorrow."""
    for first in range(1, ROWS + 1, PAGE):
        await conn.execute(FILL, first, min(first + PAGE - 1, ROWS))


async def touched(
    conn: AnyConnection, sql: str, *arguments: Any
) -> tuple[dict[str, int], dict[str, int], Any]:
    """Scans of whole tables, rows fetched by index, and the answer of one statement."""
    async with conn.transaction():
        before = {row["name"]: row for row in await conn.fetch(TOUCHED)}
        answer = await conn.fetch(sql, *arguments)
        rows = await conn.fetch(TOUCHED)
    scans, fetched = {}, {}
    for row in rows:
        was = before.get(row["name"])
        scans[row["name"]] = int(row["scans"] - (was["scans"] if was else 0))
        fetched[row["name"]] = int(row["fetched"] - (was["fetched"] if was else 0))
    return scans, fetched, answer


@pytest.mark.req(384)
@pytest.mark.parametrize("analysed", [False, True])
async def test_q65_no_hot_statement_reads_the_whole_table(pool: AnyPool, analysed: bool) -> None:
    """Neither with statistics nor with a plan that was made when the tables were empty."""
    async with pool.acquire() as conn:
        await conn.execute("set plan_cache_mode = force_generic_plan")
        await set_concurrency(conn, "acme", "triage", LIMIT)
        await conn.execute("analyze mailbox.work; analyze mailbox.message; analyze mailbox.slot;")
        await conn.fetch(VERBS["claim"], "acme", "triage", 10, None, "p", "i", None)
        await conn.fetch(VERBS["ack_batch"], [1], [], [], None, None, None)
        await fill(conn)
        if analysed:
            await conn.execute("analyze mailbox.work; analyze mailbox.message;")
        scans, fetched, leased = await touched(
            conn, VERBS["claim"], "acme", "triage", 50, None, "p", "i", None
        )
        tokens = leased[0]["tokens"]
        assert len(tokens) == 50
        assert not HOT & {name for name, count in scans.items() if count}, scans
        assert fetched["work"] <= 5 * 50
        assert fetched["message"] <= 2 * 50
        verbs: dict[str, tuple[Any, ...]] = {
            "renew": (tokens, [], None, None, None),
            "check": (tokens, None, None),
        }
        for verb, arguments in verbs.items():
            scans, fetched, answer = await touched(conn, VERBS[f"{verb}_batch"], *arguments)
            assert len(answer) == 50
            assert fetched["work"] <= 5 * 50, (verb, fetched)
            assert not scans["work"] or (verb == "check" and not analysed), verb
        acks: tuple[Any, ...] = (tokens, [], [], None, None, None)
        scans, fetched, [both] = await touched(
            conn, VERBS["ack_and_claim"], *acks, "acme", "triage", 50, None, "p", "i", None
        )
        assert sorted(both["acked"]) == sorted(tokens)
        assert len(both["ids"]) == 50
        assert not HOT & {name for name, count in scans.items() if count}, scans
        assert fetched["work"] <= 8 * 50
        # The gauges count no further than they have to, and nothing of what they do not show.
        await conn.execute(ALONG_INDEXES.replace("local", ""))
        scans, fetched, _ = await touched(conn, GAUGES["mailbox"], MOST)
        assert not HOT & {name for name, count in scans.items() if count}, scans
        assert fetched["work"] <= MOST + ROWS / 100 + 1500


async def test_an_idle_poll_stops_at_the_first_row_that_is_for_later(pool: AnyPool) -> None:
    async with pool.acquire() as conn:
        await fill(conn)
        await conn.execute("delete from mailbox.work where due")
        await conn.execute("analyze mailbox.work")
        await conn.fetch(VERBS["claim"], "acme", "triage", 10, None, "p", "i", None)
        scans, fetched, answer = await touched(
            conn, VERBS["claim"], "acme", "triage", 10, None, "p", "i", None
        )
        assert answer[0]["ids"] is None
        assert scans.get("work", 0) == 0
        assert fetched["work"] <= 1


async def test_the_reaper_and_the_line_of_ages_read_by_index(pool: AnyPool) -> None:
    async with pool.acquire() as conn:
        await fill(conn)
        await conn.execute("analyze mailbox.work")
        for name, after in {
            "overdue_leases": "'-infinity'::timestamptz, -1, 100",
            "overdue_ages": "'-infinity'::timestamptz, '00000000-0000-0000-0000-000000000000', 100",
        }.items():
            await conn.execute("set plan_cache_mode = force_generic_plan")
            await conn.execute(f"prepare {name} as {REAPER[name]}")
            [row] = await conn.fetch(f"explain (format json) execute {name}({after})")
            assert '"Seq Scan"' not in str(row[0]).replace("'", '"'), name
