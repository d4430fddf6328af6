"""What a subscription asks of a connector: refused unless the connector's allow-list has it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sereno.control_plane.catalog.item import Address
from sereno.control_plane.catalog.reference import address_of
from sereno.subscriptions.documents import Document
from sereno.subscriptions.faults import Fault
from sereno.subscriptions.models import ConnectorSpec, SubscriptionSpec
from sereno.subscriptions.models.source import McpSource
from sereno.subscriptions.tool_access import objection


def calls_not_allowed(
    documents: Iterable[Document], stored: Mapping[Address, Mapping[str, Any]]
) -> Iterator[Fault]:
    """A fault for each source whose tool or arguments its connector does not allow; `stored` are those in the catalog."""
    listed = list(documents)
    declared = {
        address_of(document): document.spec for document in listed if isinstance(document.spec, ConnectorSpec)
    }
    for document in listed:
        source = document.spec.source.mcp if isinstance(document.spec, SubscriptionSpec) else None
        if source is None:
            continue
        address = Address(document.tenant, "Connector", source.connector)
        connector = declared.get(address) or _stored(stored, address)
        found = None if connector is None else _objection(connector, source)
        if found is not None:
            yield document.fault("spec.source.mcp", found)


def _stored(stored: Mapping[Address, Mapping[str, Any]], address: Address) -> ConnectorSpec | None:
    return ConnectorSpec.model_validate(stored[address]) if address in stored else None


def _objection(connector: ConnectorSpec, source: McpSource) -> str | None:
    """What is filled in while polling is not known yet; each call is checked again before it is made."""
    return objection(connector, source.tool, source.arguments)
