"""The verbs of the lease on a real database: what counts, what is refused, and what is written."""

import asyncio
from typing import Any

import pytest

from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.lease_items import AckItem, Answer, Claimed, ReleaseItem, RenewItem, Status
from sereno.mailbox.message import Message
from sereno.mailbox.principal import Principal
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.verbs import Mailbox
from tests.mailbox_messages import message
from tests.waiting import until


async def put(pool: AnyPool, *messages: Message) -> None:
    async with pool.acquire() as conn:
        await deposit(conn, messages)


async def claim(mailbox: Mailbox, **arguments: Any) -> list[Claimed]:
    given: dict[str, Any] = {"max": 10, "incarnation": "w1"}
    return await mailbox.claim("acme", "triage", **(given | arguments))


async def claim_one(mailbox: Mailbox, **arguments: Any) -> Claimed:
    [claimed] = await claim(mailbox, max=1, **arguments)
    return claimed


async def lapse(pool: AnyPool, token: int) -> None:
    """Wait until the lease of this token is over by the database's clock."""

    async def over() -> bool:
        sql = "select leased_until <= clock_timestamp() from mailbox.work where token = $1"
        return bool(await pool.fetchval(sql, token))

    await until(over)


async def verb(mailbox: Mailbox, name: str, token: int) -> Answer:
    match name:
        case "renew":
            [answer] = await mailbox.renew([RenewItem(token)])
        case "ack":
            [answer] = await mailbox.ack([AckItem(token, {"late": True})])
        case "release":
            [answer] = await mailbox.release([ReleaseItem(token, "late")])
        case _:
            [answer] = await mailbox.check([token])
    return answer


VERBS = ["renew", "ack", "release", "check"]


@pytest.mark.req(26)
async def test_a_deposit_counts_once_however_often_it_is_made(pool: AnyPool, mailbox: Mailbox) -> None:
    one = message()
    await put(pool, one, message())
    await put(pool, one)
    assert len(await claim(mailbox)) == 2


@pytest.mark.req(24)
async def test_a_claim_hands_over_the_whole_message_and_a_lease(pool: AnyPool, mailbox: Mailbox) -> None:
    given = message(
        priority=2, serial_key="c1", lineage=[{"agent": "other"}], context={"on_behalf_of": "user:marta"}
    )
    await put(pool, given)
    got = await claim_one(mailbox, lease_seconds=30)
    assert (got.id, got.instruction, got.subscription) == (given.id, given.instruction, given.subscription)
    assert (got.envelopes, got.lineage, got.context) == (given.envelopes, given.lineage, given.context)
    assert (got.attempts, got.priority, got.serial_key) == (1, 2, "c1")
    row = await pool.fetchrow("select leased_until, hard_deadline, give_up_at from mailbox.work")
    assert row is not None
    assert (got.lease.until, got.lease.hard_deadline) == (row["leased_until"], row["hard_deadline"])
    at = await pool.fetchval("select at from mailbox.event where kind = 'claimed'")
    assert (got.lease.until - at).total_seconds() == 30
    assert (got.lease.hard_deadline - at).total_seconds() == given.max_run_seconds
    assert (row["give_up_at"] - at).total_seconds() == given.max_age_seconds


async def test_an_acknowledgement_closes_the_work_with_its_result(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message())
    got = await claim_one(mailbox)
    assert await mailbox.ack([AckItem(got.lease.token, {"n": 1}, {"tokens": 7})]) == [
        Answer(got.lease.token, Status.OK, None, "acked")
    ]
    assert await pool.fetchval("select count(*) from mailbox.work") == 0
    assert await pool.fetchval("select state from mailbox.standing where id = $1", got.id) == "acked"
    data = await pool.fetchval("select data from mailbox.event where kind = 'acked'")
    assert data == {"result": {"n": 1}, "usage": {"tokens": 7}}


@pytest.mark.req(30, 32)
@pytest.mark.parametrize("name", VERBS)
async def test_a_stale_token_is_refused_after_a_new_claim(pool: AnyPool, mailbox: Mailbox, name: str) -> None:
    await put(pool, message())
    old = await claim_one(mailbox, lease_seconds=0.02)
    await lapse(pool, old.lease.token)
    await Reaper(pool).sweep()
    new = await claim_one(mailbox)
    assert new.id == old.id
    assert new.lease.token > old.lease.token
    before = await pool.fetchrow("select * from mailbox.work")
    assert (await verb(mailbox, name, old.lease.token)).status is Status.STALE
    assert await pool.fetchrow("select * from mailbox.work") == before
    refusal = "select detail from mailbox.event where kind = 'refused' and token = $1"
    assert await pool.fetchval(refusal, old.lease.token) == f"stale_{name}"
    assert (await verb(mailbox, "ack", new.lease.token)).status is Status.OK


@pytest.mark.req(30)
@pytest.mark.parametrize("reaped", [False, True])
@pytest.mark.parametrize("name", VERBS)
async def test_after_expiry_nothing_but_a_new_claim_acts(
    pool: AnyPool, mailbox: Mailbox, name: str, reaped: bool
) -> None:
    await put(pool, message())
    old = await claim_one(mailbox, lease_seconds=0.02)
    await lapse(pool, old.lease.token)
    if reaped:
        assert await Reaper(pool).sweep() == 1
    assert (await verb(mailbox, name, old.lease.token)).status is Status.EXPIRED
    await Reaper(pool).sweep()
    assert (await claim_one(mailbox)).attempts == 2


@pytest.mark.parametrize("name", VERBS)
async def test_tokens_that_were_never_issued_are_unknown(pool: AnyPool, mailbox: Mailbox, name: str) -> None:
    await put(pool, message())
    got = await claim_one(mailbox)
    for token in (1, got.lease.token + 1, got.lease.token + (1 << 40)):
        assert (await verb(mailbox, name, token)).status is Status.UNKNOWN
    assert (await verb(mailbox, "check", got.lease.token)).status is Status.OK


@pytest.mark.req(37)
@pytest.mark.parametrize("name", VERBS)
async def test_a_foreign_token_is_unknown_to_who_may_not_reach_it(
    pool: AnyPool, mailbox: Mailbox, name: str
) -> None:
    await put(pool, message())
    token = (await claim_one(mailbox)).lease.token
    for stranger in (
        Principal("agent:other", "globex"),
        Principal("agent:other", "acme", frozenset({"other"})),
        Principal("lease", token=token + 1),
    ):
        items = {"renew": [RenewItem(token)], "ack": [AckItem(token)], "release": [ReleaseItem(token, "x")]}
        answers = await getattr(mailbox, name)(items.get(name, [token]), stranger)
        assert [answer.status for answer in answers] == [Status.UNKNOWN]
    assert (await verb(mailbox, "ack", token)).status is Status.OK


async def test_items_of_one_call_are_answered_one_by_one_in_order(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message(), message(), message())
    first, second, third = [got.lease.token for got in await claim(mailbox)]
    await mailbox.ack([AckItem(second)])
    answers = await mailbox.ack([AckItem(third), AckItem(second), AckItem(99), AckItem(first)])
    assert [(a.token, a.status) for a in answers] == [
        (third, Status.OK),
        (second, Status.STALE),
        (99, Status.UNKNOWN),
        (first, Status.OK),
    ]
    assert answers[1].state == "acked"


async def test_a_renewal_prolongs_up_to_the_hard_deadline(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message(max_run_seconds=40))
    got = await claim_one(mailbox, lease_seconds=30)
    [answer] = await mailbox.renew([RenewItem(got.lease.token, {"step": 2})])
    assert answer.status is Status.OK
    assert answer.until is not None
    assert got.lease.until < answer.until <= got.lease.hard_deadline
    await pool.execute("update mailbox.work set hard_deadline = leased_until")
    [capped] = await mailbox.renew([RenewItem(got.lease.token)])
    assert capped.until == answer.until


async def test_a_release_waits_at_least_the_servers_minimum(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message())
    got = await claim_one(mailbox)
    [answer] = await mailbox.release([ReleaseItem(got.lease.token, "busy", 0.0)])
    assert (answer.status, answer.state) == (Status.OK, "ready")
    waits = "select extract(epoch from ready_at - (select max(at) from mailbox.event)) from mailbox.work"
    assert await pool.fetchval(waits) == 1
    assert await claim(mailbox) == []


async def test_what_has_not_started_is_claimable_at_once_and_cost_no_attempt(
    pool: AnyPool, mailbox: Mailbox
) -> None:
    await put(pool, message(max_attempts=1))
    for _ in range(3):
        got = await claim_one(mailbox)
        assert got.attempts == 1
        [answer] = await mailbox.release([ReleaseItem(got.lease.token, "not_started")])
        assert answer.state == "ready"


@pytest.mark.req(155)
@pytest.mark.parametrize(
    ("attempts", "reason", "dead_of"), [(1, "boom", "exhausted"), (5, "rejected", "rejected")]
)
async def test_what_cannot_be_processed_dies_with_a_reason_and_one_notice(
    pool: AnyPool, mailbox: Mailbox, attempts: int, reason: str, dead_of: str
) -> None:
    await put(pool, message(max_attempts=attempts), message(max_attempts=attempts))
    for got in await claim(mailbox):
        [answer] = await mailbox.release([ReleaseItem(got.lease.token, reason)])
        assert answer.state == "dead"
    closed = await pool.fetch("select distinct state, reason from mailbox.standing")
    assert [tuple(row) for row in closed] == [("dead", dead_of)]
    [notice] = await pool.fetch("select cause, count from mailbox.notice")
    assert (notice["cause"], notice["count"]) == (f"dead/refund-watch/{dead_of}", 2)


@pytest.mark.req(25, 151)
async def test_a_crash_counts_as_an_attempt_until_they_are_used_up(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message(max_attempts=2))
    for attempt in (1, 2):
        got = await claim_one(mailbox, lease_seconds=0.02)
        assert got.attempts == attempt
        await lapse(pool, got.lease.token)
        await Reaper(pool).sweep()
    assert await claim(mailbox) == []
    assert await pool.fetchval("select reason from mailbox.dead") == "exhausted"
    assert await pool.fetchval("select sum(count) from mailbox.notice") == 1


async def test_work_older_than_its_age_is_given_up(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message(max_age_seconds=0.05))
    got = await claim_one(mailbox, lease_seconds=30)
    assert got.lease.until < got.lease.hard_deadline
    await lapse(pool, got.lease.token)
    await Reaper(pool).sweep()
    assert await pool.fetchval("select reason from mailbox.dead") == "deadline"


async def test_released_work_that_grew_too_old_is_given_up_without_a_claim(
    pool: AnyPool, mailbox: Mailbox
) -> None:
    await put(pool, message(max_age_seconds=0.3))
    got = await claim_one(mailbox)
    await mailbox.release([ReleaseItem(got.lease.token, "busy")])

    async def given_up() -> bool:
        await Reaper(pool).sweep()
        return bool(await pool.fetchval("select reason = 'deadline' from mailbox.dead"))

    await until(given_up)
    assert await claim(mailbox) == []


async def test_priority_goes_first_then_the_order_of_deposit(pool: AnyPool, mailbox: Mailbox) -> None:
    plain, late, urgent = message(), message(), message(priority=5)
    for one in (plain, late, urgent):
        await put(pool, one)
    assert [got.id for got in await claim(mailbox)] == [urgent.id, plain.id, late.id]


async def test_what_is_for_later_is_not_claimable_before(pool: AnyPool, mailbox: Mailbox) -> None:
    soon = await pool.fetchval("select clock_timestamp() + interval '300 milliseconds'")
    await put(pool, message(ready_at=soon))
    assert await claim(mailbox) == []
    [got] = await claim(mailbox, wait_seconds=10)
    assert got.attempts == 1
    assert await pool.fetchval("select at >= $1 from mailbox.event where kind = 'claimed'", soon)


@pytest.mark.req(384)
async def test_concurrent_claimers_never_get_the_same_message(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, *(message() for _ in range(640)))
    ids: list[Any] = []
    tokens: list[int] = []

    async def claimer(name: str) -> None:
        while batch := await claim(mailbox, max=7, incarnation=name):
            ids.extend(got.id for got in batch)
            tokens.extend(got.lease.token for got in batch)

    async with asyncio.TaskGroup() as group:
        for number in range(32):
            group.create_task(claimer(f"w{number}"))
    assert len(ids) == len(set(ids)) == len(set(tokens)) == 640


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"max": 0}, "max"),
        ({"max": 1001}, "max"),
        ({"lease_seconds": -1}, "lease_seconds"),
        ({"wait_seconds": -1}, "wait_seconds"),
    ],
)
async def test_arguments_out_of_bounds_are_refused_by_name(
    mailbox: Mailbox, arguments: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValueError, match=f"^{field}: expected"):
        await claim(mailbox, **arguments)
