"""What the guards remember goes when its window has ended, in pages, and nothing else."""

from sereno.execution_plane.pipeline.forgetting import Forgetting
from tests.integration.pipeline.conftest import Plane
from tests.passages import TENANT, receiptid

OCCURRENCES = """
insert into execution.dedup (tenant_id, origin, subscription, dedupkey, receiptid, outcome, expires_at)
select $1, 'webhook/hub', 'watch', n::text, $2, 'dropped', clock_timestamp() - make_interval(days => n)
from generate_series(0, 20) n
"""
BODIES = """
insert into execution.body_seen (tenant_id, endpoint, sha256, receiptid, expires_at)
select $1, 'hub', n::text, $2, clock_timestamp() - make_interval(days => n) from generate_series(0, 20) n
"""


async def test_what_ended_a_week_ago_is_deleted_page_by_page(plane: Plane) -> None:
    for statement in (OCCURRENCES, BODIES):
        await plane.pool.execute(statement, TENANT, receiptid(1))
    forgetting = Forgetting(plane.pool, page=4)
    assert await forgetting.round() == 2 * len(range(7, 21))
    for table, column in (("dedup", "dedupkey"), ("body_seen", "sha256")):
        left = await plane.rows(f"select {column} as key from execution.{table}")
        assert {row["key"] for row in left} == {str(days) for days in range(7)}
    assert await forgetting.round() == 0


async def test_a_row_in_use_is_left_for_the_next_round(plane: Plane) -> None:
    await plane.pool.execute(OCCURRENCES, TENANT, receiptid(1))
    async with plane.pool.acquire() as holder, holder.transaction():
        await holder.execute("select 1 from execution.dedup where dedupkey = '9' for update")
        assert await Forgetting(plane.pool).round() == 13
    assert await Forgetting(plane.pool).round() == 1
