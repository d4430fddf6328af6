"""Envelopes, subscriptions and their catalog objects for the tests of guards, matcher and pipeline."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from sereno.envelope.encode import flat
from sereno.envelope.envelope import Envelope
from sereno.envelope.event import Event
from sereno.envelope.receipt import Receipt, receive
from sereno.execution_plane.guards.activation import Activation, Entry
from sereno.execution_plane.guards.keyed import activation_of
from sereno.execution_plane.guards.subscription import Identity, Subscription
from sereno.execution_plane.guards.tenancy import TENANCY, Tenancy
from sereno.execution_plane.pipeline.directory import compile_object
from sereno.subscriptions.models import SubscriptionSpec
from sereno.subscriptions.models.limits import Budget
from sereno.subscriptions.snapshot import CatalogObject

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
TENANT = "acme"
ENDPOINT = "zendesk"


def receiptid(number: int) -> str:
    """A UUIDv7 as text that says which receipt it is."""
    return str(UUID(f"019cb000-0000-7000-8000-{number:012x}"))


def received(
    number: int = 1,
    *,
    event_id: str | None = None,
    after: timedelta = timedelta(),
    tenant: str = TENANT,
    origin: str = f"webhook/{ENDPOINT}",
    type_: str = "com.zendesk.ticket.created",
    data: object = None,
    dedupkey: str | None = None,
    subject: str | None = None,
    time: datetime | None = NOON,
    notes: Mapping[str, object] | None = None,
    **receipt: Any,
) -> Envelope:
    """An envelope received so long after noon; its key follows from `event_id`, which is its number by default."""
    name = event_id or f"e-{number}"
    event = Event(id=name, source="/zendesk", type=type_, time=time, subject=subject, data=data)
    written = {"trust": "authenticated", **receipt}
    envelope = receive(
        event,
        Receipt(
            receiptid=receiptid(number),
            tenantid=tenant,
            origin=origin,
            recordedtime=NOON + after,
            dedupkey=dedupkey or f"/zendesk#{name}",
            **written,
        ),
    )
    if notes:
        from dataclasses import replace

        envelope = replace(envelope, outside={**envelope.outside, **notes})
    return envelope


def declared(
    name: str = "refund-watch",
    *,
    tenant: str = TENANT,
    version: int = 1,
    state: str = "active",
    updated_at: datetime = NOON,
    **spec: Any,
) -> CatalogObject:
    """A subscription as the catalog holds it; keywords replace fields of its specification."""
    written = {
        "owner": "user:marta",
        "agent": "agent:support-triage",
        "instruction": "Draft a reply.",
        "source": {"webhook": {"endpoint": ENDPOINT}},
        **spec,
    }
    canonical = SubscriptionSpec.model_validate(written).model_dump(mode="json", exclude_none=True)
    return CatalogObject(
        kind="Subscription",
        tenant=tenant,
        name=name,
        id=str(uuid5(NAMESPACE_URL, f"{tenant}/{name}")),
        version=version,
        state=state,
        spec=canonical,
        created_by="user:marta",
        updated_at=updated_at,
    )


def subscription(
    name: str = "refund-watch",
    *,
    identities: tuple[Identity, ...] = (),
    tenancy: Tenancy = TENANCY,
    agent_budget: Budget | None = None,
    **fields: Any,
) -> Subscription:
    """A subscription ready to match and to guard; keywords replace fields of its specification."""
    return compile_object(declared(name, **fields), identities, tenancy=tenancy, agent_budget=agent_budget)


def activation(envelope: Envelope, watch: Subscription, entry: Entry = "arrival") -> Activation:
    """The event on its way to this subscription."""
    return activation_of(envelope, flat(envelope), watch, entry)
