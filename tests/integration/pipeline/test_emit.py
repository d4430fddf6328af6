"""What an agent emits: through the outbox into the ingress, to the mailbox of whoever listens, and in no circle."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from sereno.envelope.decode import loads_batch
from sereno.envelope.identifiers import to_people
from sereno.execution_plane.agent_events import SCHEMA as EXECUTION
from sereno.execution_plane.agent_events import AgentEvents
from sereno.mailbox.engine import outbox
from sereno.mailbox.engine.bus import connect
from sereno.mailbox.lease_items import AckItem, Claimed, EmitItem, Status
from sereno.mailbox.verbs import Mailbox
from tests.engines import Engines
from tests.integration.pipeline.conftest import Plane
from tests.integration.pipeline.test_consumer import drained, running
from tests.integration.pipeline.test_explain import Asker
from tests.passages import TENANT, declared, received
from tests.waiting import until

DRAFTED = "com.acme.draft.written"
SENT = "com.acme.reply.sent"
Relay = Callable[[], Awaitable[None]]


@pytest.fixture
def mailbox(plane: Plane) -> Mailbox:
    return Mailbox(plane.pool, emitter=AgentEvents(os.urandom))


async def claim(mailbox: Mailbox, agent: str) -> Claimed:
    [got] = await mailbox.claim(TENANT, agent, wait_seconds=20, incarnation="w")
    return got


@pytest.fixture
async def relay(plane: Plane, engines: Engines) -> AsyncIterator[Relay]:
    """Publish what stands in the outbox, as the listeners' process does, and decide it."""
    nats = await connect(engines.nats, name="listeners", seed=engines.seed("listeners"))

    async def publish() -> None:
        async with plane.pool.acquire() as conn:
            while await outbox.Relay(plane.pool, nats, EXECUTION).drain(conn):
                pass
        await drained(plane)

    yield publish
    await nats.close()


def watching(name: str, agent: str, *types: str, **spec: Any) -> Any:
    return declared(name, agent=f"agent:{agent}", source={"platform": {"types": list(types)}}, **spec)


@pytest.mark.req(27, 90)
async def test_an_emitted_event_wakes_another_agent_and_a_circle_is_refused(
    plane: Plane, mailbox: Mailbox, relay: Relay
) -> None:
    """D1: webhook to A, A emits to B, B to C, and C's event would wake A again."""
    await plane.in_force(
        declared("first", agent="agent:a"),
        watching("second", "b", DRAFTED),
        watching("third", "c", SENT),
        watching("back-to-first", "a", "com.acme.case.closed"),
    )
    async with running(plane.consumer()):
        await plane.publish(received(1, onbehalfof="user:marta"))
        got = await claim(mailbox, "a")
        for agent, type_ in (("b", DRAFTED), ("c", SENT)):
            [said] = await mailbox.emit([EmitItem(got.lease.token, type_, {"n": 1}, "case-7")])
            assert said.status is Status.OK
            await mailbox.ack([AckItem(got.lease.token)])
            await relay()
            cause, got = got, await claim(mailbox, agent)
            [envelope] = got.envelopes
            assert (envelope["type"], envelope["subject"], envelope["data"]) == (type_, "case-7", {"n": 1})
            assert envelope["origin"] == f"agent/{cause.agent}"
            assert (envelope["actor"], envelope["actorid"]) == (f"agent:{cause.agent}",) * 2
            assert envelope["causationid"] == str(cause.id)
            assert envelope["onbehalfof"] == "user:marta"
            assert envelope["trust"] == "authenticated"
            assert [ancestor["agent"] for ancestor in got.lineage] == ["a", "b"][: len(got.lineage)]
        assert envelope["hops"] == 3
        assert envelope["correlationid"] == received(1).correlationid
        await mailbox.emit([EmitItem(got.lease.token, "com.acme.case.closed")])
        await relay()
        verdicts = await plane.rows(
            "select outcome, guard, reason, numbers from execution.verdict where subscription = 'back-to-first'"
        )
        assert [(v["outcome"], v["guard"], v["reason"]) for v in verdicts] == [("dropped", "cycle", "cycle")]
        assert len(verdicts[0]["numbers"]["path"]) >= 3
        assert await plane.count("mailbox.message") == 3
        await _is_explained_to_the_root(plane)


async def _is_explained_to_the_root(plane: Plane) -> None:
    """The event that was refused is told with every message between the first event and it."""
    [last] = await plane.rows("select receiptid from execution.verdict where subscription = 'back-to-first'")
    first = to_people("rcp", received(1).receiptid)
    asker = Asker(plane)
    told = (await asker.explain(to_people("rcp", last["receiptid"])))["genealogy"]
    assert (told["root"]["receipt"], told["hops"]) == (first, 4)
    assert [step["agent"] for step in told["chain"]] == ["a", "b", "c"]
    assert [step["subscription"] for step in told["chain"]] == ["first", "second", "third"]
    assert told["chain"][0]["receipts"] == [first]
    own = (await asker.explain(told["chain"][0]["message"]))["genealogy"]
    assert (own["root"]["receipt"], own["chain"]) == (first, [])
    lost = told["chain"][1]["message"].removeprefix("msg_")
    await plane.pool.execute("delete from mailbox.message where id = $1", UUID(lost))
    answer = await asker.ask(to_people("rcp", last["receiptid"]))
    assert (answer.status_code, answer.json()["code"]) == (500, "incomplete")
    assert "among its causes is not stored" in answer.json()["detail"]
    await asker.close()


async def test_however_much_is_emitted_each_message_of_the_ingress_stays_small(
    plane: Plane, mailbox: Mailbox, relay: Relay
) -> None:
    """One that is larger than the bus takes would stand in the outbox for ever, and all behind it."""
    await plane.in_force(declared("first", agent="agent:a"), watching("second", "b", DRAFTED))
    async with running(plane.consumer()):
        await plane.publish(*(received(number) for number in range(1, 31)))

        async def there() -> bool:
            return await plane.count("mailbox.message") == 30

        await until(there)
        held = await mailbox.claim(TENANT, "a", max=30, incarnation="w")
        answers = await mailbox.emit([EmitItem(one.lease.token, DRAFTED, "\n" * 60_000) for one in held])
        assert {answer.status for answer in answers} == {Status.OK}
        rows = await plane.rows("select payload from execution.outbox where subject like '%ingress%'")
        assert sum(len(loads_batch(bytes(row["payload"]))) for row in rows) == 30
        assert max(len(row["payload"]) for row in rows) <= 512 * 1024 + 30
        await relay()
        assert await plane.count("mailbox.message") == 60


async def test_a_lost_lease_emits_nothing(plane: Plane, mailbox: Mailbox, relay: Relay) -> None:
    await plane.in_force(declared("first", agent="agent:a"), watching("second", "b", DRAFTED))
    async with running(plane.consumer()):
        await plane.publish(received(1))
        got = await claim(mailbox, "a")
        await mailbox.ack([AckItem(got.lease.token)])
        [late] = await mailbox.emit([EmitItem(got.lease.token, DRAFTED)])
        assert late.status is Status.STALE
        await relay()
        assert await plane.count("mailbox.message") == 1


@pytest.mark.parametrize(
    "type_", ["", " ", "sereno.platform.run.finished", "sereno.condition.met", "Sereno.x"]
)
async def test_an_agent_speaks_for_itself_alone(plane: Plane, mailbox: Mailbox, type_: str) -> None:
    with pytest.raises(ValueError, match=r"^items\[0\]\.type: expected"):
        await mailbox.emit([EmitItem(1, type_)])
    async with asyncio.timeout(5):
        assert await plane.count("mailbox.message") == 0
