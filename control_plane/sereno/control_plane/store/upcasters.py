"""Every type of domain event with its current version, and how an older one is read.

A stored event never changes. When the shape of a type changes, its version rises here and a function is added
that lifts the data of the version before; the golden files in `tests/cases/events` keep each version readable.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

Data = Mapping[str, Any]
Upcaster = Callable[[Data], Data]

CURRENT_VERSIONS: Mapping[str, int] = MappingProxyType(
    {
        "tenant.declared": 1,
        "tenant.edited": 1,
        "agent.declared": 1,
        "agent.edited": 1,
        "agent.paused": 1,
        "agent.resumed": 1,
        "agent.deleted": 1,
        "agent.revived": 1,
        "endpoint.declared": 1,
        "endpoint.edited": 1,
        "endpoint.paused": 1,
        "endpoint.resumed": 1,
        "endpoint.deleted": 1,
        "endpoint.revived": 1,
        "connector.declared": 1,
        "connector.edited": 1,
        "connector.paused": 1,
        "connector.resumed": 1,
        "connector.deleted": 1,
        "connector.revived": 1,
        "principal.declared": 1,
        "principal.edited": 1,
        "principal.paused": 1,
        "principal.resumed": 1,
        "principal.deleted": 1,
        "principal.revived": 1,
        "grant.declared": 1,
        "grant.edited": 1,
        "grant.deleted": 1,
        "grant.revived": 1,
        "policy.requested": 1,
        "policy.declared": 1,
        "policy.edited": 1,
        "policy.deleted": 1,
        "policy.revived": 1,
        "approval.requested": 1,
        "approval.confirmed": 1,
        "approval.approved": 1,
        "approval.denied": 1,
        "approval.superseded": 1,
        "answer.given": 1,
        "stop.engaged": 1,
        "stop.released": 1,
        "token.issued": 2,
        "token.revoked": 1,
        "subscription.created": 1,
        "subscription.submitted": 1,
        "subscription.approved": 1,
        "subscription.rejected": 1,
        "subscription.activated": 1,
        "subscription.paused": 1,
        "subscription.resumed": 1,
        "subscription.edited": 1,
        "subscription.expired": 1,
        "subscription.exhausted": 1,
        "subscription.deleted": 1,
        "subscription.revived": 1,
    }
)

# (type, version) -> the same data in the shape of version + 1.
UPCASTERS: Mapping[tuple[str, int], Upcaster] = MappingProxyType(
    # The first tokens never expired and had no label.
    {("token.issued", 1): lambda data: {**data, "expires": None, "label": None}}
)


class UnknownEventError(Exception):
    """A stored event has a type or a version that this release cannot read."""


def upcast(
    kind: str,
    version: int,
    data: Data,
    *,
    current: Mapping[str, int] = CURRENT_VERSIONS,
    upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS,
) -> Data:
    """The data as the current version of its type would have recorded it. Raises `UnknownEventError`."""
    newest = current.get(kind)
    if newest is None or not 1 <= version <= newest:
        raise UnknownEventError(f"event {kind} version {version} is not known to this release of sereno")
    for step in range(version, newest):
        data = upcasters[kind, step](data)
    return data
