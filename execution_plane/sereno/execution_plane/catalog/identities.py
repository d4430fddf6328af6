"""The identity table: which principal stands behind an actor at a source."""

from collections.abc import Iterable, Iterator, Mapping

from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.snapshot import CatalogObject

Table = Mapping[str, Mapping[str, str]]
"""By origin, then by actor."""


def table(objects: Iterable[CatalogObject]) -> Table:
    """Every known actor of a tenant. Two principals that claim the same actor leave it unknown."""
    found: dict[str, dict[str, str]] = {}
    contested = set()
    for origin, actor, principal in _claims(objects):
        before = found.setdefault(origin, {}).setdefault(actor, principal)
        if before != principal:
            contested.add((origin, actor))
    for origin, actor in contested:
        del found[origin][actor]
    return found


def _claims(objects: Iterable[CatalogObject]) -> Iterator[tuple[str, str, str]]:
    for item in objects:
        if item.state == State.DELETED or item.kind not in ("Agent", "Tenant"):
            continue
        for identity in item.spec.get("identities", ()):
            principal = identity.get("principal") or f"agent:{item.name}"
            yield identity["origin"], identity["actor"], principal
