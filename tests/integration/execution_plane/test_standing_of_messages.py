"""What a manifest says of a subscription reaches the messages that already lie in a mailbox."""

from typing import Any
from uuid import uuid4

import pytest
from nats.aio.client import Client

from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.manifest.receiver import Receiver
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.message import Message, SubscriptionRef
from sereno.mailbox.verbs import Mailbox
from tests.integration.execution_plane.declaring import KEY_ID, TENANT, Declarer, subscription

SOURCE = {"webhook": {"endpoint": "hub"}}


def watch(state: str = "active") -> Any:
    return subscription("watch", SOURCE, state=state)


class Plane:
    def __init__(self, declarer: Declarer, receiver: Receiver, pool: AnyPool) -> None:
        self.declarer, self.receiver, self.pool = declarer, receiver, pool
        self.mailbox = Mailbox(pool)

    async def declare(self, *declared: Any) -> None:
        await self.declarer.publish(*declared)
        await self.receiver.receive()

    async def deposit(self) -> None:
        async with self.pool.acquire() as conn, conn.transaction():
            await deposit(conn, [message()])

    async def claimable(self) -> int:
        claimed = await self.mailbox.claim(TENANT, "triage", max=10, incarnation=str(uuid4()))
        return len(claimed)


def message() -> Message:
    return Message(
        id=uuid4(),
        tenant=TENANT,
        agent="triage",
        subscription=SubscriptionRef("watch", 1),
        instruction="Look.",
        envelopes=[{"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}],
    )


@pytest.fixture
async def plane(declarer: Declarer, pool: AnyPool, gateway_nats: Client) -> Plane:
    trusted = {KEY_ID: declarer.private_key.public_key()}
    plane = Plane(declarer, Receiver(pool, gateway_nats, trusted, Catalog()), pool)
    await plane.declare(watch())
    await plane.deposit()
    return plane


async def test_a_pause_keeps_messages_and_the_resumption_gives_them_back(plane: Plane) -> None:
    await plane.declare(watch("paused"))
    assert await plane.claimable() == 0
    await plane.declare(watch())
    assert await plane.claimable() == 1


async def test_a_revoked_subscription_has_nothing_to_claim(plane: Plane) -> None:
    await plane.declare()
    assert await plane.claimable() == 0
    assert await plane.pool.fetchval("SELECT held_by FROM mailbox.work") == ["revoked"]


async def test_a_deleted_subscription_withdraws_its_messages(plane: Plane) -> None:
    await plane.declare(watch("deleted"))
    assert await plane.claimable() == 0
    closed = await plane.pool.fetchrow(
        "SELECT state, reason FROM mailbox.standing WHERE closed_at IS NOT NULL"
    )
    assert closed is not None
    assert (closed["state"], closed["reason"]) == ("dead", "withdrawn")


async def test_an_expired_subscription_keeps_what_it_delivered(plane: Plane) -> None:
    await plane.declare(watch("expired"))
    assert await plane.claimable() == 1


@pytest.mark.parametrize("state", ["paused", "deleted"])
async def test_what_a_slow_pipeline_deposits_after_the_change_is_caught_too(state: str, plane: Plane) -> None:
    await plane.declare(watch(state))
    await plane.deposit()
    await plane.receiver.receive()
    assert await plane.claimable() == 0
