"""A tenant's manifest and the blobs it names, made from the catalog as of now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sereno.control_plane.catalog.item import Item
from sereno.control_plane.store.heads import Head
from sereno.subscriptions.policy import text as policy_text
from sereno.subscriptions.policy.facts import SHIPPED
from sereno.subscriptions.snapshot import AuditEnd, CatalogObject, Lift, Manifest, canonical, entry, key, root

VALIDITY = timedelta(hours=24)
"""For low-risk observation; a sensitive effect is never allowed on a manifest alone."""
# What is shipped does not change between releases, so that its bytes and their hash do not either.
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Built:
    """An unsigned manifest, and each object's canonical bytes by their SHA-256."""

    manifest: Manifest
    blobs: Mapping[str, bytes]


def build(
    head: Head,
    items: Sequence[Item],
    *,
    issued_at: datetime,
    key_id: str,
    lifts: tuple[Lift, ...] = (),
    audit: AuditEnd | None = None,
) -> Built:
    """The manifest of a tenant with these objects; tokens and principals of every tenant are among them.

    The shipped policies travel too, so that the other plane decides by the version that is pinned here.
    """
    objects = [_object(head.tenant, item) for item in items] + [_shipped(head.tenant)]
    entries = {key(travelling): entry(travelling) for travelling in objects}
    blobs = {entries[key(travelling)].sha256: canonical(travelling) for travelling in objects}
    manifest = Manifest(
        tenant=head.tenant,
        epoch=head.epoch,
        version=head.version,
        issued_at=issued_at,
        valid_until=issued_at + VALIDITY,
        root=root(entries),
        entries=entries,
        lifts=lifts,
        audit=audit,
        key_id=key_id,
    )
    return Built(manifest, blobs)


def _shipped(tenant: str) -> CatalogObject:
    policy = policy_text.default()
    return CatalogObject(
        kind="Policy",
        tenant=tenant,
        name=SHIPPED,
        id=SHIPPED,
        version=int(policy.version[:13], 16),
        state="active",
        spec={"cedar": policy.policies, "schema": policy.schema},
        created_by="svc:release",
        updated_at=EPOCH,
    )


def _object(tenant: str, item: Item) -> CatalogObject:
    return CatalogObject(
        kind=item.address.kind,
        tenant=tenant,
        name=item.address.name,
        id=str(item.id),
        version=item.version,
        state=item.state.value,
        spec=dict(item.spec),
        created_by=item.created_by,
        updated_at=item.updated_at,
        token_sha256=item.token_sha256,
    )
