"""Where a document's object lives, what it refers to, and what to declare when that will not exist."""

from collections.abc import Collection, Iterable, Iterator

from sereno.control_plane.catalog.item import Address
from sereno.subscriptions.documents import Document
from sereno.subscriptions.faults import Fault
from sereno.subscriptions.models import SubscriptionSpec
from sereno.subscriptions.models.metadata import DEFAULT_TENANT


def address_of(document: Document) -> Address:
    """Where the document's object lives; a tenant lives in itself."""
    return Address(document.tenant, document.kind, document.metadata.name)


def references(document: Document) -> Iterator[tuple[str, Address]]:
    """Each field that names another object, with that object; the default tenant always exists."""
    tenant = document.tenant
    if document.kind != "Tenant" and tenant != DEFAULT_TENANT:
        yield "metadata.tenant", Address(tenant, "Tenant", tenant)
    if not isinstance(document.spec, SubscriptionSpec):
        return
    yield "spec.agent", _agent(tenant, document.spec.agent)
    source = document.spec.source
    if source.webhook:
        yield "spec.source.webhook.endpoint", Address(tenant, "Endpoint", source.webhook.endpoint)
    if source.mcp:
        yield "spec.source.mcp.connector", Address(tenant, "Connector", source.mcp.connector)
    if source.platform and source.platform.agent:
        yield "spec.source.platform.agent", _agent(tenant, source.platform.agent)
    if source.platform and source.platform.subscription:
        name = source.platform.subscription
        yield "spec.source.platform.subscription", Address(tenant, "Subscription", name)


def missing(documents: Iterable[Document], existing: Collection[Address]) -> Iterator[Fault]:
    """A fault for each reference to something that will not exist, saying what to declare."""
    for document in documents:
        for field, target in references(document):
            if target not in existing:
                yield document.fault(field, _sentence(target))


def _agent(tenant: str, principal: str) -> Address:
    return Address(tenant, "Agent", principal.removeprefix("agent:"))


def _sentence(target: Address) -> str:
    what = f"{target.kind.lower()} {target.name}"
    where = "" if target.kind == "Tenant" else f" in tenant {target.tenant}"
    return f"{what} is not declared{where}; declare kind: {target.kind} with metadata.name: {target.name}"
