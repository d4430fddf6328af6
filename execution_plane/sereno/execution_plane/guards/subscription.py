"""A subscription as the matcher and the guards see it: one version, compiled once."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

import orjson

from sereno.subscriptions.filters import Predicate, compile_filters
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.models import Filter, Source, SubscriptionSpec
from sereno.subscriptions.rights import Standing

Identity = tuple[str, str]
"""Origin and actor: as whom an agent appears at a source."""


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
    filters: tuple[tuple[str, Predicate], ...]
    cooldown: timedelta | None
    reentry: int
    identities: frozenset[Identity]
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
    revoked: bool = False,
    identities: Iterable[Identity] = (),
) -> Subscription:
    """The subscription that a declared specification means, in its present state."""
    cooldown, delivery = spec.limits.cooldown, spec.delivery
    return Subscription(
        tenant=tenant,
        name=name,
        version=version,
        standing=Standing(
            state,
            spec.limits.expires,
            revoked=revoked,
            verified_sender_only=spec.sender == "verified",
        ),
        agent=spec.agent.removeprefix("agent:"),
        instruction=spec.instruction,
        origin=origin_of(spec.source, name),
        types=frozenset(spec.source.platform.types) if spec.source.platform else None,
        filters=tuple((text_of(declared), compile_filters([declared])) for declared in spec.filters),
        cooldown=None if cooldown is None else cooldown.every,
        reentry=spec.limits.reentry,
        identities=frozenset(identities),
        priority=delivery.priority,
        max_attempts=delivery.max_attempts,
        lease=delivery.lease,
        max_run=delivery.max_run,
        max_age=delivery.max_age,
        workspace=spec.workspace,
        owner=spec.owner,
    )


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
