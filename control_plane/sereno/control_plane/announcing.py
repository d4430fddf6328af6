"""The platform's own events about subscriptions and approvals, as rows of the outbox that lead to the ingress."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from sereno.control_plane.catalog.approval import Approval
from sereno.control_plane.catalog.event import RecordedEvent
from sereno.control_plane.catalog.item import Item
from sereno.control_plane.catalog.plan import Step
from sereno.control_plane.minting import new_id
from sereno.envelope import dedup_key
from sereno.envelope.encode import dumps_batch
from sereno.envelope.envelope import Envelope
from sereno.envelope.types import APPROVAL_RESOLVED, SUBSCRIPTION_CHANGED
from sereno.mailbox.engine.bus import ingress_subject
from sereno.mailbox.engine.outbox import Outgoing

ORIGIN = "platform"
# Far below the payload limit of a batch: each of these events has less than 1 KiB.
_EVENTS_A_BATCH = 250


def announcements(steps: Sequence[Step]) -> list[Outgoing]:
    """One CloudEvents batch (or a few) a tenant with an event for each step of each subscription."""
    by_tenant: dict[str, list[Envelope]] = defaultdict(list)
    for step in steps:
        if step.after.address.kind == "Subscription":
            by_tenant[step.after.address.tenant] += [_envelope(step.after, event) for event in step.events]
    return [
        Outgoing(ingress_subject(tenant), tenant, dumps_batch(batch))
        for tenant, envelopes in sorted(by_tenant.items())
        for batch in _batches(envelopes)
    ]


def _batches(envelopes: list[Envelope]) -> Iterator[list[Envelope]]:
    remaining = iter(envelopes)
    while batch := list(islice(remaining, _EVENTS_A_BATCH)):
        yield batch


def _envelope(item: Item, event: RecordedEvent) -> Envelope:
    thing = f"subscription/{item.address.name}"
    receipt = str(new_id(event.recorded))
    return Envelope(
        id=f"{thing}/{event.version}",
        source=f"/tenants/{item.address.tenant}",
        type=SUBSCRIPTION_CHANGED,
        time=event.recorded,
        subject=item.address.name,
        datacontenttype="application/json",
        data={
            "subscription": item.address.name,
            "id": str(item.id),
            "version": item.version,
            "change": event.type.partition(".")[2],
            "state": event.data["after"],
            "reason": event.reason,
        },
        receiptid=receipt,
        tenantid=item.address.tenant,
        origin=ORIGIN,
        recordedtime=event.recorded,
        dedupkey=dedup_key.of_state(thing, f"{item.id}/{event.version}"),
        correlationid=receipt,
        hops=1,
        trust="platform",
        actor=event.actor,
        actorid=event.actor,
    )


def resolution(
    approval: Approval | None,
    at: datetime,
    *,
    tenant: str = "",
    message: str | None = None,
    said: Mapping[str, Any] | None = None,
) -> Outgoing:
    """The event that something which waited for a person was decided: an approval, or the answer to parked work."""
    state: str
    if approval is not None:
        tenant = approval.subject.tenant
        thing, state = f"approval/{approval.id}", approval.state
        data: dict[str, Any] = {
            "approval": str(approval.id),
            "kind": approval.subject.kind.lower(),
            "name": approval.subject.name,
            "outcome": approval.state,
            "by": approval.resolved_by,
            "asked_by": approval.asked_by,
            "reason": approval.reason,
            "digest": approval.digest,
        }
    else:
        thing, state = f"message/{message}", at.isoformat()
        data = {"kind": "message", "message": message, **(said or {})}
    receipt = str(new_id(at))
    envelope = Envelope(
        id=f"{thing}/{state}",
        source=f"/tenants/{tenant}",
        type=APPROVAL_RESOLVED,
        time=at,
        subject=thing,
        datacontenttype="application/json",
        data=data,
        receiptid=receipt,
        tenantid=tenant,
        origin=ORIGIN,
        recordedtime=at,
        dedupkey=dedup_key.of_state(thing, state),
        correlationid=receipt,
        hops=1,
        trust="platform",
        actor=data["by"],
        actorid=data["by"],
    )
    return Outgoing(ingress_subject(tenant), tenant, dumps_batch([envelope]))
