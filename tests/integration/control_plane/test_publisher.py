"""The publisher on real engines: what lies in the bucket is what the catalog says, signed, and heals by itself."""

import asyncio
from collections.abc import Mapping

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from nats.aio.client import Client
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.bootstrapping import bootstrap
from sereno.control_plane.catalog.caller import Caller
from sereno.control_plane.catalog.item import Address
from sereno.control_plane.minting import utc_now
from sereno.control_plane.operating import operate
from sereno.control_plane.publishing import publisher as publishing
from sereno.control_plane.publishing.bucket import Bucket, blob_key, manifest_key
from sereno.control_plane.publishing.build import VALIDITY
from sereno.control_plane.publishing.publisher import Publisher
from sereno.control_plane.publishing.signing_key import SigningKey, key_id
from sereno.mailbox.engine.bus import MANIFESTS, ensure_streams
from sereno.subscriptions import manifest_parts, snapshot
from sereno.subscriptions.snapshot import CatalogObject, Manifest
from tests.control_documents import ALL, subscription
from tests.integration.control_plane.conftest import Apply

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY = SigningKey(PRIVATE, key_id(PRIVATE.public_key()))
WATCH = Address("default", "Subscription", "refund-watch")
ADMIN = "ab" * 32


# The administrator of every tenant, and the shipped policies.
ALWAYS = {"principal/user:admin", "policy/sereno-default"}


@pytest.fixture
def publisher(engine: AsyncEngine, nats: Client) -> Publisher:
    return Publisher(engine, nats, KEY)


async def read(client: Client, tenant: str = "default") -> tuple[Manifest, Mapping[str, CatalogObject]]:
    """The manifest in the bucket, verified, with every object it names, each checked by its hash."""
    bucket = await client.jetstream().key_value(MANIFESTS)
    value = (await bucket.get(manifest_key(tenant))).value or b""
    whole = await Bucket(client).whole(tenant, value)
    assert isinstance(whole, bytes), whole
    signed = snapshot.loads(whole)
    assert isinstance(signed, snapshot.SignedManifest)
    manifest = snapshot.verify(signed, {KEY.id: PRIVATE.public_key()})
    assert isinstance(manifest, Manifest), manifest
    objects = {}
    for name, entry in manifest.entries.items():
        found = snapshot.read_object((await bucket.get(blob_key(tenant, entry.sha256))).value or b"", entry)
        assert isinstance(found, CatalogObject), found
        objects[name] = found
    return manifest, objects


async def blobs(client: Client) -> set[str]:
    return await Bucket(client).blobs("default")


@pytest.mark.req(16)
async def test_publishes_the_catalog_signed(applying: Apply, publisher: Publisher, operator: Client) -> None:
    applied = await applying(ALL)
    assert await publisher.round() == 1
    manifest, objects = await read(operator)
    assert manifest.version == applied.manifests["default"]  # type: ignore[union-attr]
    assert manifest.valid_until - manifest.issued_at == VALIDITY
    assert objects.keys() == ALWAYS | {"agent/triage", "endpoint/zendesk", "subscription/refund-watch"}
    watch = objects["subscription/refund-watch"]
    assert (watch.state, watch.version, watch.created_by) == ("active", 1, "user:admin")
    assert watch.spec["agent"] == "agent:triage"
    [token] = applied.tokens.values()  # type: ignore[union-attr]
    assert token not in str(objects), "only the hash of a path token travels"
    assert objects["endpoint/zendesk"].token_sha256 == snapshot.sha256(token.encode())


async def test_publishes_nothing_while_nothing_changes(applying: Apply, publisher: Publisher) -> None:
    await applying(ALL)
    assert [await publisher.round(), await publisher.round()] == [1, 0]
    await applying(ALL)
    assert await publisher.round() == 0
    await applying(subscription(instruction="Other."))
    assert await publisher.round() == 1


async def test_state_travels_and_what_was_deleted_travels_as_deleted(
    applying: Apply, publisher: Publisher, operator: Client, engine: AsyncEngine
) -> None:
    await applying(ALL)
    states = []
    for verb in ("pause", "resume"):
        await operate(engine, WATCH, verb, by=Caller("user:admin"), reason="tests", at=utc_now())
        await publisher.round()
        states.append((await read(operator))[1]["subscription/refund-watch"].state)
    assert states == ["paused", "active"]
    await operate(engine, WATCH, "delete", by=Caller("user:admin"), reason="tests", at=utc_now())
    await publisher.round()
    objects = (await read(operator))[1]
    assert objects.keys() == ALWAYS | {"agent/triage", "endpoint/zendesk", "subscription/refund-watch"}
    assert objects["subscription/refund-watch"].state == "deleted"


async def test_of_the_deleted_only_the_last_travel(
    applying: Apply,
    publisher: Publisher,
    operator: Client,
    engine: AsyncEngine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(publishing, "TOMBSTONES", 1)
    await applying(ALL)
    await applying(subscription("second-watch"))
    for name in ("refund-watch", "second-watch"):
        address = Address("default", "Subscription", name)
        await operate(engine, address, "delete", by=Caller("user:admin"), reason="tests", at=utc_now())
    await publisher.round()
    found = [name for name in (await read(operator))[1] if name.startswith("subscription/")]
    assert found == ["subscription/second-watch"]


async def test_the_admin_token_is_in_every_tenants_manifest(
    applying: Apply, publisher: Publisher, operator: Client, engine: AsyncEngine
) -> None:
    await applying("apiVersion: sereno/v1\nkind: Tenant\nmetadata: {name: acme}\nspec: {zone: UTC}\n")
    await bootstrap(engine, ADMIN)
    assert await publisher.round() == 2
    for tenant in ("default", "acme"):
        _, objects = await read(operator, tenant)
        [token] = [known for name, known in objects.items() if name.startswith("token/")]
        assert (token.tenant, token.token_sha256) == (tenant, ADMIN)
        assert token.spec == {"principal": "user:admin", "scopes": ["*"]}
    await bootstrap(engine, ADMIN)
    assert await publisher.round() == 0, "a restart changes nothing"
    await bootstrap(engine, "cd" * 32)
    assert await publisher.round() == 2
    _, objects = await read(operator)
    assert {known.token_sha256 for known in objects.values()} == {None, "cd" * 32}


async def test_renews_with_a_later_validity(
    applying: Apply, publisher: Publisher, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "RENEW_SECONDS", 0.0)
    await applying(ALL)
    await publisher.round()
    first, _ = await read(operator)
    assert await publisher.round() == 1
    second, _ = await read(operator)
    assert (first.epoch, first.version, first.root) == (second.epoch, second.version, second.root)
    assert second.valid_until > first.valid_until
    assert snapshot.is_newer(second, first)


async def test_blobs_that_nothing_names_go_after_two_renewals(
    applying: Apply, publisher: Publisher, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "RENEW_SECONDS", 0.0)
    await applying(ALL)
    await publisher.round()
    old = await blobs(operator)
    await applying(subscription(instruction="Other."))
    await publisher.round()
    manifest, _ = await read(operator)
    named = {entry.sha256 for entry in manifest.entries.values()}
    assert await blobs(operator) == old | named, "whoever still reads the old manifest finds its objects"
    await publisher.round()
    assert await blobs(operator) == named
    await publisher.round()
    await read(operator)


async def test_a_bucket_made_anew_is_filled_again(
    applying: Apply, publisher: Publisher, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "INSPECT_SECONDS", 0.0)
    await applying(ALL)
    await publisher.round()
    await operator.jetstream().delete_key_value(MANIFESTS)
    await ensure_streams(operator.jetstream())
    assert await publisher.round() == 1
    _, objects = await read(operator)
    assert len(objects) == 3 + len(ALWAYS)


async def test_an_older_or_forged_manifest_in_the_bucket_is_replaced(
    applying: Apply, publisher: Publisher, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "INSPECT_SECONDS", 0.0)
    bucket = await operator.jetstream().key_value(MANIFESTS)
    await applying(ALL)
    await publisher.round()
    older = (await bucket.get(manifest_key("default"))).value or b""
    await applying(subscription(instruction="Other."))
    await publisher.round()
    for wrong in (older, b"not a manifest"):
        await bucket.put(manifest_key("default"), wrong)
        assert await publisher.round() == 1
        assert (await read(operator))[1]["subscription/refund-watch"].version == 2


async def test_a_new_publisher_takes_over_where_another_died(
    applying: Apply, engine: AsyncEngine, nats: Client, operator: Client
) -> None:
    await applying(ALL)
    await Publisher(engine, nats, KEY).round()
    await applying(subscription(instruction="Other."))
    await Publisher(engine, nats, KEY).round()
    assert (await read(operator))[1]["subscription/refund-watch"].version == 2


async def test_publishes_what_is_applied_until_stopped(
    applying: Apply, publisher: Publisher, operator: Client
) -> None:
    stop = asyncio.Event()
    running = asyncio.create_task(publisher.run(stop))
    applied = await applying(ALL)
    async with asyncio.timeout(60):
        while await version(operator) < applied.manifests["default"]:  # type: ignore[union-attr]  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    stop.set()
    async with asyncio.timeout(60):
        await running


async def version(client: Client) -> int:
    written = await Bucket(client).manifest("default")
    signed = snapshot.loads(written) if written else None
    if not isinstance(signed, snapshot.SignedManifest):
        return 0
    return Manifest.model_validate_json(signed.payload).version


async def test_a_large_manifest_travels_in_parts_of_which_old_ones_go(
    applying: Apply, publisher: Publisher, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest_parts, "PART_BYTES", 500)
    monkeypatch.setattr(publishing, "RENEW_SECONDS", 0.0)
    await applying(ALL)
    await publisher.round()
    manifest, objects = await read(operator)
    parts = await blobs(operator) - {snapshot.entry(one).sha256 for one in objects.values()}
    assert len(parts) > 1
    # Renewed with other bytes; what the last two no longer name is removed, and what is named stays.
    for _ in range(4):
        await publisher.round()
    assert len(await blobs(operator)) <= len(objects) + 3 * len(parts)
    renewed, _ = await read(operator)
    assert (renewed.version, renewed.root) == (manifest.version, manifest.root)
    assert renewed.issued_at > manifest.issued_at
