"""A subscription as the matcher and the guards see it: one version, compiled once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

import orjson

from sereno.execution_plane.guards.batch import BatchLimits
from sereno.execution_plane.guards.budget import Budgets
from sereno.execution_plane.guards.tenancy import TENANCY, Tenancy, budgets_of
from sereno.subscriptions import observation
from sereno.subscriptions.event_key import KeyOf, compile_key
from sereno.subscriptions.filters import Attributes, Predicate, compile_filters
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.models import Filter, Source, SubscriptionSpec
from sereno.subscriptions.models.limits import Budget, Limits, Then
from sereno.subscriptions.models.subscription import Suspicious
from sereno.subscriptions.period import LENGTH
from sereno.subscriptions.quiet_hours import Quiet
from sereno.subscriptions.rate import Rate
from sereno.subscriptions.rights import RIGHTS, Rights, Standing

Identity = tuple[str, str]
"""Origin and actor: as whom an agent appears at a source."""
WhenBusy = Literal["queue", "drop", "merge"]


class Rest(NamedTuple):
    """The least time between two wake-ups, and what becomes of what comes in between."""

    every: timedelta
    then: Then


class Threshold(NamedTuple):
    """More arrivals than `most` within the window are a storm."""

    most: int
    window: timedelta


class Criterion(NamedTuple):
    """What an evaluator judges, and how sure it must be."""

    text: str
    min_confidence: float
    suspicious: Suspicious = "warn"


class ToldOf(NamedTuple):
    """Of whose runs the platform's events are wanted: of one agent, one subscription, or both."""

    agent: str | None = None
    subscription: str | None = None

    def holds(self, event: Attributes) -> bool:
        """Whether an event of the platform, or what an agent emitted, concerns them."""
        agent, subscription = _about(event)
        return self.agent in (None, agent) and self.subscription in (None, subscription)

    def found(self, event: Attributes) -> str:
        """Whom the event concerns instead."""
        return str(ToldOf(*_about(event)))

    def __str__(self) -> str:
        named = (("agent", self.agent), ("subscription", self.subscription))
        return ", ".join(f"{what} {name}" for what, name in named if name is not None) or "nobody"


class Shown(NamedTuple):
    """Which signals of a connector are meant: those of one view of one operation."""

    view: str

    def holds(self, event: Attributes) -> bool:
        """Whether an event is of this view; one that says no view, as in a simulation, is of any."""
        return self.found(event) in ("", self.view)

    def found(self, event: Attributes) -> str:
        """Of which view the event is."""
        return str(event.get("source", "")).partition("?view=")[2]

    def __str__(self) -> str:
        return self.view


def _about(event: Attributes) -> tuple[str | None, str | None]:
    origin, data = str(event.get("origin")), event.get("data")
    told = data if origin == "platform" and isinstance(data, Mapping) else {}
    agent = origin.removeprefix("agent/") if origin.startswith("agent/") else told.get("agent")
    return agent, told.get("subscription")


@dataclass(frozen=True, slots=True)
class Subscription:
    """Who is woken by what, with which limits; `filters` pair the text of each with its predicate."""

    tenant: str
    name: str
    version: int
    standing: Standing
    agent: str
    instruction: str
    origin: str
    types: frozenset[str] | None
    told_of: ToldOf | Shown | None
    filters: tuple[tuple[str, Predicate], ...]
    condition: Criterion | None
    cooldown: Rest | None
    quiet: Quiet | None
    batch: BatchLimits | None
    batch_by: KeyOf | None
    serial_by: KeyOf | None
    when_busy: WhenBusy
    storm: Threshold | None
    storm_per_object: Threshold | None
    budgets: Budgets | None
    max_occurrences: int | None
    reentry: int
    identities: frozenset[Identity]
    tenancy: Tenancy
    priority: int
    max_attempts: int
    lease: timedelta
    max_run: timedelta
    max_age: timedelta
    workspace: str | None
    owner: str


def of_spec(
    spec: SubscriptionSpec,
    *,
    tenant: str,
    name: str,
    version: int,
    state: State,
    rights: Rights = RIGHTS,
    identities: Iterable[Identity] = (),
    tenancy: Tenancy = TENANCY,
    agent_budget: Budget | None = None,
) -> Subscription:
    """The subscription that a declared specification means, in its present state."""
    limits, delivery = spec.limits, spec.delivery
    agent = spec.agent.removeprefix("agent:")
    return Subscription(
        tenant=tenant,
        name=name,
        version=version,
        standing=Standing(
            state,
            limits.expires,
            revoked=rights.revoked,
            revoked_at=rights.revoked_at,
            authority=rights.authority,
            owner_removed=rights.owner_removed,
            agent_suspended=rights.agent_suspended,
            verified_sender_only=spec.sender == "verified",
        ),
        agent=agent,
        instruction=spec.instruction,
        origin=origin_of(spec.source, name),
        types=frozenset(spec.source.platform.types) if spec.source.platform else None,
        told_of=_told_of(spec.source, name),
        filters=tuple((text_of(declared), compile_filters([declared])) for declared in spec.filters),
        condition=None
        if spec.condition is None
        else Criterion(
            spec.condition.criterion,
            float(spec.condition.min_confidence),
            spec.condition.suspicious or "warn",
        ),
        cooldown=None if limits.cooldown is None else Rest(limits.cooldown.every, limits.cooldown.then),
        quiet=_quiet(limits),
        batch=_batch(limits),
        batch_by=None if limits.batch is None or limits.batch.by is None else compile_key(limits.batch.by),
        serial_by=None if delivery.serial_by is None else compile_key(delivery.serial_by),
        when_busy=limits.when_busy,
        storm=None if limits.storm is None else _threshold(limits.storm.threshold),
        storm_per_object=None
        if limits.storm is None or limits.storm.per_object is None
        else _threshold(limits.storm.per_object),
        budgets=budgets_of(tenancy, tenant, subscription=(name, limits.budget), agent=(agent, agent_budget)),
        max_occurrences=limits.max_occurrences,
        reentry=limits.reentry,
        identities=frozenset(identities),
        tenancy=tenancy,
        priority=delivery.priority,
        max_attempts=delivery.max_attempts,
        lease=delivery.lease,
        max_run=delivery.max_run,
        max_age=delivery.max_age,
        workspace=spec.workspace,
        owner=spec.owner,
    )


def _quiet(limits: Limits) -> Quiet | None:
    quiet = limits.quiet_hours
    return None if quiet is None else Quiet(ZoneInfo(quiet.zone), quiet.from_, quiet.to, quiet.then)


def _batch(limits: Limits) -> BatchLimits | None:
    batch = limits.batch
    if batch is None:
        return None
    return BatchLimits(batch.window, batch.max_wait, batch.max_items, batch.max_bytes)


def _told_of(source: Source, name: str) -> ToldOf | Shown | None:
    if source.mcp is not None:
        return Shown(observation.view(source.mcp, subscription=name))
    platform = source.platform
    if platform is None or (platform.agent is None and platform.subscription is None):
        return None
    agent = None if platform.agent is None else platform.agent.removeprefix("agent:")
    return ToldOf(agent, platform.subscription)


def _threshold(rate: Rate) -> Threshold:
    return Threshold(rate.count, LENGTH[rate.per])


def origin_of(source: Source, name: str) -> str:
    """The `origin` of the envelopes that a source brings (contract, part 1)."""
    if source.webhook is not None:
        return f"webhook/{source.webhook.endpoint}"
    if source.time is not None:
        return f"time/{name}"
    if source.calendar is not None:
        return f"calendar/{name}"
    if source.mcp is not None:
        return f"mcp/{source.mcp.connector}"
    return "platform"


def text_of(declared: Filter) -> str:
    """A filter as it is declared, on one line."""
    dialects = declared.model_dump(mode="json", by_alias=True, exclude_none=True)
    return ", ".join(f"{dialect}: {_argument(value)}" for dialect, value in dialects.items())


def _argument(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
