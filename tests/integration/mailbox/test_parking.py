"""Parked work: it waits for a person or another message, and goes on with the answer."""

from datetime import datetime, timedelta
from uuid import UUID

import pytest

from sereno.mailbox.connection import AnyPool
from sereno.mailbox.lease_items import Claimed, ParkItem, Status
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.verbs import Mailbox
from tests.mailbox_messages import message
from tests.mailbox_moves import ack, claim, claim_one, put
from tests.waiting import until


async def park(mailbox: Mailbox, claimed: Claimed, **fields: object) -> Status:
    given: dict[str, object] = {
        "waiting_for": "question",
        "question": "Which invoice?",
        "options": ["A", "B"],
    }
    [answer] = await mailbox.park([ParkItem(claimed.lease.token, **(given | fields))])  # type: ignore[arg-type]
    return answer.status


@pytest.mark.req(176, 361)
async def test_a_question_waits_and_its_answer_comes_with_the_next_claim(
    pool: AnyPool, mailbox: Mailbox
) -> None:
    await put(pool, message(max_attempts=1))
    first = await claim_one(mailbox)
    assert await park(mailbox, first) is Status.OK
    assert await claim(mailbox) == []
    [notice] = await pool.fetch("select text from mailbox.notice")
    assert notice["text"].endswith("waits for an answer: Which invoice?")
    assert await mailbox.resume("acme", first.id, {"choice": "B"}, "user:marta")
    assert not await mailbox.resume("acme", first.id, {"choice": "A"}, "user:marta")
    again = await claim_one(mailbox)
    assert (again.id, again.attempts) == (first.id, 1)
    [answer] = again.answers
    assert (answer["answer"], answer["principal"]) == ({"choice": "B"}, "user:marta")
    assert (await ack(mailbox, first))[0].status is Status.STALE
    assert (await ack(mailbox, again))[0].status is Status.OK


@pytest.mark.req(385)
async def test_work_parked_for_another_goes_on_when_that_is_done(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message())
    first = await claim_one(mailbox)
    other = message()
    await put(pool, other)
    assert (
        await park(mailbox, first, waiting_for="dependency", question=None, options=(), dependency=other.id)
        is Status.OK
    )
    await Reaper(pool).sweep()
    second = await claim_one(mailbox)
    assert second.id == other.id
    assert await claim(mailbox) == []
    await ack(mailbox, second)
    await Reaper(pool).sweep()
    again = await claim_one(mailbox)
    assert again.id == first.id
    assert again.answers[0]["answer"]["outcome"] == "done"


async def test_a_deadline_without_an_answer_goes_on_and_says_so(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message())
    now: datetime = await pool.fetchval("select clock_timestamp()")
    await park(mailbox, await claim_one(mailbox), deadline=now + timedelta(milliseconds=300))

    async def back() -> bool:
        await Reaper(pool).sweep()
        return bool(await pool.fetchval("select state = 'ready' from mailbox.work"))

    await until(back)
    assert (await claim_one(mailbox)).answers[0]["answer"] == {"outcome": "no_answer"}


async def test_people_are_reminded(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message())
    await park(mailbox, await claim_one(mailbox), remind_after_seconds=1)
    await pool.execute("update mailbox.parked set remind_at = remind_at - interval '1 second'")
    await Reaper(pool).sweep()
    await Reaper(pool).sweep()
    assert await pool.fetchval("select count from mailbox.notice") == 2


async def test_age_stands_still_while_parked(pool: AnyPool, mailbox: Mailbox) -> None:
    await put(pool, message())
    first = await claim_one(mailbox)
    await park(mailbox, first)
    await pool.execute(
        "update mailbox.work set still_since = still_since - interval '2 days',"
        " give_up_at = give_up_at - interval '2 days'"
    )
    await Reaper(pool).sweep()
    assert await mailbox.resume("acme", first.id, {}, "user:marta")
    assert (await claim_one(mailbox)).id == first.id


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"waiting_for": "weather"}, "waiting_for"),
        ({"question": None}, "question"),
        ({"waiting_for": "dependency"}, "dependency"),
        ({"dependency": UUID(int=1)}, "dependency"),
        ({"deadline": datetime(2030, 1, 1)}, "deadline"),  # noqa: DTZ001 - the fault under test
        ({"remind_after_seconds": 0.0}, "remind_after_seconds"),
    ],
)
async def test_a_park_that_makes_no_sense_is_refused_by_name(
    pool: AnyPool, mailbox: Mailbox, fields: dict[str, object], field: str
) -> None:
    await put(pool, message())
    claimed = await claim_one(mailbox)
    with pytest.raises(ValueError, match=rf"^items\[0\]\.{field}: expected"):
        await park(mailbox, claimed, **fields)
