"""From objects of the catalog to the shapes of answers."""

from collections.abc import Mapping, Sequence

from sereno.control_plane import endpoint_secrets
from sereno.control_plane.api import models
from sereno.control_plane.applying import Applied
from sereno.control_plane.catalog.difference import differences
from sereno.control_plane.catalog.event import RecordedEvent
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.plan import Step
from sereno.control_plane.reports.inbox import Activity
from sereno.control_plane.store.suspensions import Suspension
from sereno.envelope.identifiers import to_people
from sereno.subscriptions.upcoming import Upcoming


class Renderer:
    """Renders with the address at which senders reach the execution plane."""

    def __init__(self, execution_url: str) -> None:
        self._execution_url = execution_url.rstrip("/")

    def url(self, token: str | None) -> str | None:
        """The URL of an endpoint with this path token."""
        return f"{self._execution_url}/in/{token}" if token else None

    def applied(self, applied: Applied, *, dry_run: bool) -> models.ApplyAnswer:
        """The answer to apply."""
        objects = [self._object(step, applied.tokens, dry_run=dry_run) for step in applied.steps]
        return models.ApplyAnswer(objects=objects, manifest=dict(applied.manifests))

    def _object(self, step: Step, tokens: Mapping[Address, str], *, dry_run: bool) -> models.AppliedObject:
        item = step.after
        return models.AppliedObject(
            kind=item.address.kind,
            tenant=item.address.tenant,
            name=item.address.name,
            id=None if dry_run and step.before is None else str(item.id),
            version=item.version,
            state=item.state,
            change=step.change,
            url=self.url(tokens.get(item.address)),
            waits=list(step.asks),
        )

    def entry(self, item: Item) -> models.CatalogEntry:
        """An object as it is."""
        return models.CatalogEntry(**_fields(item))

    def endpoint(self, item: Item, tokens: Mapping[Address, str]) -> models.EndpointEntry:
        """An endpoint with its URL."""
        fields = _fields(item)
        spec = {**item.spec, "secrets": endpoint_secrets.shown(item.spec["secrets"])}
        return models.EndpointEntry(**{**fields, "spec": spec}, url=self.url(tokens.get(item.address)))

    def subscription(
        self, item: Item, activities: Mapping[str, Activity], suspensions: Sequence[Suspension] = ()
    ) -> models.SubscriptionEntry:
        """A subscription with its activity and what suspends it."""
        known = activities.get(item.address.name, Activity(None, {}))
        activity = models.Activity(last_delivered_at=known.last_delivered_at, outcomes=dict(known.counts))
        return models.SubscriptionEntry(
            **_fields(item), activity=activity, suspensions=[_suspension(one) for one in suspensions]
        )


def _suspension(one: Suspension) -> models.Suspension:
    return models.Suspension(
        id=to_people("sus", one.id),
        cause=one.cause,
        subject=one.subject,
        at=one.at,
        sentence=one.sentence,
        lifted_at=one.lifted_at,
        held=one.held,
    )


def preview(item: Item, found: Upcoming) -> models.SubscriptionPreview:
    """When a subscription fires next."""
    times = [
        models.ComingTime(instant=each.instant, local=each.local, policy=each.policy) for each in found.times
    ]
    return models.SubscriptionPreview(
        name=item.address.name,
        tenant=item.address.tenant,
        version=item.version,
        state=item.state,
        zone=found.zone,
        misfire=str(item.spec.get("misfire", "latest")),
        times=times,
        note=found.note,
    )


def drift(applied: Applied) -> models.DiffAnswer:
    """The answer to diff: what is not as documented."""
    return models.DiffAnswer(
        changes=[
            models.ObjectDrift(
                kind=step.after.address.kind,
                tenant=step.after.address.tenant,
                name=step.after.address.name,
                change=step.change,
                fields=[
                    models.ChangedField(
                        path=difference.path, before=difference.before, after=difference.after
                    )
                    for difference in differences(step.before, step.after)
                ],
            )
            for step in applied.steps
            if step.change != "unchanged"
        ]
    )


def history(events: tuple[RecordedEvent, ...]) -> models.History:
    """The events of an object."""
    return models.History(
        events=[
            models.HistoryEvent(
                revision=event.version,
                type=event.type,
                actor=event.actor,
                reason=event.reason,
                recorded=event.recorded,
                data=dict(event.data),
            )
            for event in events
        ]
    )


def _fields(item: Item) -> dict[str, object]:
    return {
        "kind": item.address.kind,
        "tenant": item.address.tenant,
        "name": item.address.name,
        "id": str(item.id),
        "version": item.version,
        "state": item.state,
        "labels": dict(item.labels),
        "spec": dict(item.spec),
        "created_by": item.created_by,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }
