"""The matcher: which subscriptions an event concerns, found by tenant and origin first, then by their filters."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sereno.envelope.envelope import Envelope
from sereno.envelope.types import CONDITION_MET
from sereno.execution_plane.guards.activation import Activation
from sereno.execution_plane.guards.condition import addressee
from sereno.execution_plane.guards.subscription import Subscription
from sereno.subscriptions.filters import Attributes, FilterFault, of

_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_LONGEST_VALUE = 80
PLATFORM = "platform"


class Match(NamedTuple):
    """A subscription that an event concerns; `fault` says why a filter of it could not be evaluated.

    `activation` is the event with the keys that the subscription takes from it, once they were taken.
    """

    subscription: Subscription
    fault: str | None = None
    activation: Activation | None = None


@dataclass(frozen=True, slots=True)
class Miss:
    """Why a subscription is not concerned: its source, its types or the filter that said no."""

    part: Literal["source", "types", "filter"]
    expected: str
    found: str


class Index:
    """Subscriptions by tenant and origin; the cost of an event is that of those which listen to its origin."""

    def __init__(self, subscriptions: Iterable[Subscription] = ()) -> None:
        self._by_tenant: dict[str, dict[str, tuple[Subscription, ...]]] = {}
        self._judged: dict[str, dict[str, Subscription]] = {}
        by_tenant: dict[str, list[Subscription]] = {}
        for subscription in subscriptions:
            by_tenant.setdefault(subscription.tenant, []).append(subscription)
        for tenant, own in by_tenant.items():
            self.replace(tenant, own)

    def replace(self, tenant: str, subscriptions: Iterable[Subscription]) -> None:
        """Make these all the subscriptions of the tenant."""
        by_origin: dict[str, list[Subscription]] = {}
        for subscription in sorted(subscriptions, key=lambda s: s.name):
            by_origin.setdefault(subscription.origin, []).append(subscription)
        self._by_tenant[tenant] = {origin: tuple(listening) for origin, listening in by_origin.items()}
        self._judged[tenant] = {
            one.name: one
            for listening in by_origin.values()
            for one in listening
            if one.condition is not None
        }

    def of_tenant(self, tenant: str) -> list[Subscription]:
        """All subscriptions of the tenant, by name."""
        listening = self._by_tenant.get(tenant, {}).values()
        return sorted((s for group in listening for s in group), key=lambda s: s.name)

    def hears(self, tenant: str, event_type: str) -> bool:
        """Whether a subscription of the tenant asks for this type of the platform's own events."""
        listening = self._by_tenant.get(tenant, {}).get(PLATFORM, ())
        return any(one.types is None or event_type in one.types for one in listening)

    def candidates(self, envelope: Envelope) -> Sequence[Subscription]:
        """Those of the event's tenant that listen to its origin, by name; filters not yet asked."""
        return self._by_tenant.get(envelope.tenantid, {}).get(heard_as(envelope.origin), ())

    def match(self, envelope: Envelope, attributes: Mapping[str, Any]) -> list[Match]:
        """Those whose types and filters hold, and those of which a filter could not be evaluated, by name.

        `attributes` is the envelope as flat CloudEvents JSON.
        """
        if envelope.type == CONDITION_MET and envelope.trust == "platform":
            # The candidate passed the filters; its verdict is for the one subscription that asked.
            judged = self._judged.get(envelope.tenantid, {}).get(addressee(attributes) or "")
            return [] if judged is None else [Match(judged)]
        candidates = self.candidates(envelope)
        if not candidates:
            return []
        found, event = [], of(attributes)
        for subscription in candidates:
            try:
                if _holds(subscription, envelope.type, event):
                    found.append(Match(subscription))
            except FilterFault as fault:
                found.append(Match(subscription, str(fault)))
        return found


def heard_as(origin: str) -> str:
    """As what subscriptions listen to an origin: what an agent emits reaches those to the platform, by its type."""
    return PLATFORM if origin.startswith("agent/") else origin


def _holds(subscription: Subscription, event_type: str, event: Attributes) -> bool:
    if subscription.types is not None and event_type not in subscription.types:
        return False
    if subscription.told_of is not None and not subscription.told_of.holds(event):
        return False
    for _, predicate in subscription.filters:  # noqa: SIM110 - asked for every event and subscription
        if not predicate(event):
            return False
    return True


def miss(subscription: Subscription, envelope: Envelope, attributes: Mapping[str, Any]) -> Miss | None:
    """Why the event does not concern the subscription; None when it does. Raises FilterFault like the filters."""
    if heard_as(envelope.origin) != subscription.origin:
        return Miss("source", subscription.origin, envelope.origin)
    if subscription.types is not None and envelope.type not in subscription.types:
        return Miss("types", ", ".join(sorted(subscription.types)), envelope.type)
    event = of(attributes)
    if subscription.told_of is not None and not subscription.told_of.holds(event):
        return Miss("source", str(subscription.told_of), subscription.told_of.found(event))
    for text, predicate in subscription.filters:
        if not predicate(event):
            return Miss("filter", text, _found(text, event))
    return None


def _found(text: str, attributes: Attributes) -> str:
    """What the event holds where the filter looks, each value cut to what fits into a sentence."""
    values = {path: _at(attributes, path.split(".")) for path in _PATH.findall(text)}
    named = [f"{path} = {_short(value)}" for path, value in values.items() if value is not None]
    return ", ".join(named) or "nothing there"


def _at(value: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        value = value.get(step) if isinstance(value, Mapping) else None
    return None if isinstance(value, Mapping) else value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
