import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from nats.aio.client import Client

from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.catalog.catalog import object_version
from sereno.execution_plane.manifest.bucket import blob_key, manifest_key
from sereno.execution_plane.manifest.receiver import Receiver
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.bus import MANIFESTS
from sereno.subscriptions import manifest_parts
from sereno.subscriptions.snapshot import canonical, dumps, entry, sha256, sign
from tests.integration.execution_plane.declaring import (
    ADMIN_TOKEN,
    KEY_ID,
    TENANT,
    Declarer,
    admin_token,
    endpoint,
    subscription,
    token_hash,
)

Wait = Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]
HUB = endpoint("hub", "in-token")
WATCH = subscription("watch", {"webhook": {"endpoint": "hub"}})


@pytest.fixture
def trusted(declarer: Declarer) -> Mapping[str, Ed25519PublicKey]:
    return {KEY_ID: declarer.private_key.public_key()}


@pytest.fixture
def receiver(pool: AnyPool, gateway_nats: Client, trusted: Mapping[str, Ed25519PublicKey]) -> Receiver:
    return Receiver(pool, gateway_nats, trusted, Catalog())


def catalog_of(receiver: Receiver) -> Catalog:
    return receiver._catalog


def version(receiver: Receiver) -> int | None:
    found = catalog_of(receiver).tenant(TENANT)
    return found.version if found else None


async def test_a_trusted_manifest_is_taken_over_whole(declarer: Declarer, receiver: Receiver) -> None:
    manifest = await declarer.publish(HUB, WATCH, admin_token())
    await receiver.receive()
    catalog = catalog_of(receiver)
    assert [item.name for item in catalog.subscriptions(TENANT)] == ["watch"]
    assert catalog.valid_until(TENANT) == manifest.valid_until
    found, admin = catalog.endpoint(token_hash("in-token")), catalog.principal(token_hash(ADMIN_TOKEN))
    assert found is not None
    assert (found.tenant, found.origin) == (TENANT, "webhook/hub")
    assert admin is not None
    assert (admin.name, admin.tenant) == ("user:admin", "*")


async def test_a_manifest_in_parts_is_taken_over_once_all_are_there(
    declarer: Declarer, receiver: Receiver, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest_parts, "PART_BYTES", 300)
    await declarer.publish(HUB, WATCH, admin_token())
    bucket = await operator.jetstream().key_value(MANIFESTS)
    value = (await bucket.get(manifest_key(TENANT))).value or b""
    last = blob_key(TENANT, manifest_parts.listed(value)[-1])
    part = (await bucket.get(last)).value or b""
    await bucket.delete(last)
    await receiver.receive()
    assert version(receiver) is None
    await declarer.put(last, part)
    await receiver.receive()
    assert version(receiver) == 1
    assert [item.name for item in catalog_of(receiver).subscriptions(TENANT)] == ["watch"]


async def test_what_a_newer_manifest_does_not_name_is_revoked(declarer: Declarer, receiver: Receiver) -> None:
    await declarer.publish(HUB, WATCH, admin_token())
    await receiver.receive()
    await declarer.publish(WATCH)
    await receiver.receive()
    catalog = catalog_of(receiver)
    endpoint = catalog.endpoint(token_hash("in-token"))
    # Its senders are told that it is gone, and nothing is taken from them.
    assert endpoint is not None
    assert endpoint.retired
    assert catalog.principal(token_hash(ADMIN_TOKEN)) is None


async def test_an_older_manifest_is_refused(declarer: Declarer, receiver: Receiver) -> None:
    await declarer.publish(HUB, version=5)
    await receiver.receive()
    for epoch, older in ((1, 4), (0, 9)):
        await declarer.publish(WATCH, epoch=epoch, version=older)
        await receiver.receive()
        assert version(receiver) == 5
        assert catalog_of(receiver).subscriptions(TENANT) == ()


async def test_a_higher_epoch_counts_more_than_a_version(declarer: Declarer, receiver: Receiver) -> None:
    await declarer.publish(HUB, version=5)
    await receiver.receive()
    await declarer.publish(WATCH, epoch=2, version=1)
    await receiver.receive()
    assert [item.name for item in catalog_of(receiver).subscriptions(TENANT)] == ["watch"]


async def test_the_same_version_with_another_content_is_refused(
    declarer: Declarer, receiver: Receiver
) -> None:
    await declarer.publish(HUB, version=5)
    await receiver.receive()
    await declarer.publish(WATCH, version=5)
    await receiver.receive()
    assert catalog_of(receiver).subscriptions(TENANT) == ()


async def test_a_renewal_extends_the_validity(declarer: Declarer, receiver: Receiver) -> None:
    await declarer.publish(HUB, version=5)
    await receiver.receive()
    later = datetime.now(UTC) + timedelta(hours=48)
    await declarer.publish(HUB, version=5, valid_until=later)
    await receiver.receive()
    assert catalog_of(receiver).valid_until(TENANT) == later


class TestForged:
    async def refused(self, receiver: Receiver, pool: AnyPool) -> None:
        await receiver.receive()
        assert version(receiver) is None
        assert await pool.fetchval("SELECT count(*) FROM execution.manifest") == 0
        assert await pool.fetchval("SELECT count(*) FROM execution.catalog") == 0

    async def test_by_a_key_that_is_not_trusted(
        self, declarer: Declarer, receiver: Receiver, pool: AnyPool
    ) -> None:
        declarer.private_key = Ed25519PrivateKey.generate()
        await declarer.publish(HUB)
        await self.refused(receiver, pool)

    async def test_with_changed_bytes(self, declarer: Declarer, receiver: Receiver, pool: AnyPool) -> None:
        signed = sign(declarer.manifest([HUB]), declarer.private_key, KEY_ID)
        changed = signed.model_copy(
            update={"payload": signed.payload.replace(b'"version":1', b'"version":9')}
        )
        await declarer.put(manifest_key(TENANT), dumps(changed))
        await self.refused(receiver, pool)

    async def test_under_the_name_of_another_tenant(
        self, declarer: Declarer, receiver: Receiver, pool: AnyPool
    ) -> None:
        signed = sign(declarer.manifest([], tenant="other"), declarer.private_key, KEY_ID)
        await declarer.put(manifest_key(TENANT), dumps(signed))
        await self.refused(receiver, pool)

    @pytest.mark.parametrize("written", [b"", b"{}", b"not json", b"\xff"])
    async def test_without_sense(
        self, written: bytes, declarer: Declarer, receiver: Receiver, pool: AnyPool
    ) -> None:
        await declarer.put(manifest_key(TENANT), written)
        await self.refused(receiver, pool)

    async def test_in_an_object(self, declarer: Declarer, receiver: Receiver, pool: AnyPool) -> None:
        forged = endpoint("hub", "a-strangers-token")
        await declarer.put(blob_key(TENANT, sha256(canonical(HUB))), canonical(forged))
        signed = sign(declarer.manifest([HUB]), declarer.private_key, KEY_ID)
        await declarer.put(manifest_key(TENANT), dumps(signed))
        await self.refused(receiver, pool)

    async def test_in_whose_object_it_is(self, declarer: Declarer, receiver: Receiver, pool: AnyPool) -> None:
        foreign = endpoint("hub", "in-token", tenant="other")
        await declarer.put(blob_key(TENANT, sha256(canonical(foreign))), canonical(foreign))
        signed = sign(declarer.manifest([foreign]), declarer.private_key, KEY_ID)
        await declarer.put(manifest_key(TENANT), dumps(signed))
        await self.refused(receiver, pool)


async def test_a_manifest_waits_for_its_last_object(declarer: Declarer, receiver: Receiver) -> None:
    signed = sign(declarer.manifest([HUB, WATCH]), declarer.private_key, KEY_ID)
    await declarer.put(blob_key(TENANT, sha256(canonical(HUB))), canonical(HUB))
    await declarer.put(manifest_key(TENANT), dumps(signed))
    await receiver.receive()
    assert version(receiver) is None
    await declarer.put(blob_key(TENANT, entry(WATCH).sha256), canonical(WATCH))
    await receiver.receive()
    assert version(receiver) == 1


async def test_without_nats_the_last_good_manifest_is_in_force(
    declarer: Declarer, receiver: Receiver, pool: AnyPool
) -> None:
    await declarer.publish(HUB, WATCH)
    await receiver.receive()
    restarted = Catalog()
    await restarted.refresh(pool)
    assert restarted.endpoint(token_hash("in-token")) is not None
    assert [item.name for item in restarted.subscriptions(TENANT)] == ["watch"]


async def test_what_an_object_was_stays_known(declarer: Declarer, receiver: Receiver, pool: AnyPool) -> None:
    await declarer.publish(WATCH)
    await receiver.receive()
    second = subscription("watch", {"webhook": {"endpoint": "hub"}}, version=2, spec={"instruction": "Act."})
    await declarer.publish(second)
    await receiver.receive()
    first = await object_version(pool, TENANT, "subscription/watch", 1)
    assert first is not None
    assert first.spec["instruction"] == "Look."


async def test_several_receivers_take_over_once_each_version(
    declarer: Declarer,
    receiver: Receiver,
    pool: AnyPool,
    gateway_nats: Client,
    trusted: Mapping[str, Ed25519PublicKey],
) -> None:
    others = [Receiver(pool, gateway_nats, trusted, Catalog()) for _ in range(3)]
    await declarer.publish(HUB, WATCH)
    await asyncio.gather(*(one.receive() for one in [receiver, *others]))
    assert [version(one) for one in [receiver, *others]] == [1, 1, 1, 1]


@contextlib.asynccontextmanager
async def running(receiver: Receiver) -> AsyncIterator[None]:
    stop = asyncio.Event()
    task = asyncio.create_task(receiver.run(stop))
    try:
        yield
    finally:
        stop.set()
        await task


async def test_a_bucket_that_was_made_anew_is_read_again(
    declarer: Declarer, receiver: Receiver, operator: Client, eventually: Wait
) -> None:
    async def is_version(expected: int) -> bool:
        return version(receiver) == expected

    async with running(receiver):
        await declarer.publish(HUB)
        await eventually(lambda: is_version(1))
        jetstream = operator.jetstream()
        await jetstream.delete_key_value(MANIFESTS)
        await jetstream.create_key_value(bucket=MANIFESTS)
        await declarer.publish(HUB, WATCH)
        await eventually(lambda: is_version(2))
