"""What a declared object points at, for whoever knows what is declared."""

from typing import NamedTuple

from sereno.subscriptions.documents import Document
from sereno.subscriptions.models.metadata import DEFAULT_TENANT
from sereno.subscriptions.models.subscription import SubscriptionSpec


class Reference(NamedTuple):
    """An object of the same tenant that must be declared: kind, name, and the path of the field that names it."""

    kind: str
    name: str
    path: str


def references(document: Document) -> list[Reference]:
    """Every object that `document` points at; its tenant too, unless it is the default one, which always exists."""
    found = []
    if document.kind != "Tenant" and document.metadata.tenant != DEFAULT_TENANT:
        found.append(Reference("Tenant", document.metadata.tenant, document.path("metadata", "tenant")))
    if isinstance(document.spec, SubscriptionSpec):
        found += _of_subscription(document, document.spec)
    return found


def undeclared(reference: Reference, tenant: str) -> str:
    """The sentence that refuses `reference` and says what to declare."""
    if reference.kind == "Tenant":
        return f"the tenant {reference.name} is not declared; declare kind: Tenant with metadata.name: {reference.name}"
    return (
        f"{reference.kind.lower()} {reference.name} is not declared in tenant {tenant};"
        f" declare kind: {reference.kind} with metadata.name: {reference.name}"
    )


def _of_subscription(document: Document, spec: SubscriptionSpec) -> list[Reference]:
    found = [Reference("Agent", spec.agent.removeprefix("agent:"), document.path("spec", "agent"))]
    source = spec.source
    if source.webhook is not None:
        path = document.path("spec", "source", "webhook", "endpoint")
        found.append(Reference("Endpoint", source.webhook.endpoint, path))
    if source.platform is not None and source.platform.agent is not None:
        path = document.path("spec", "source", "platform", "agent")
        found.append(Reference("Agent", source.platform.agent.removeprefix("agent:"), path))
    if source.platform is not None and source.platform.subscription is not None:
        path = document.path("spec", "source", "platform", "subscription")
        found.append(Reference("Subscription", source.platform.subscription, path))
    if source.mcp is not None:
        found.append(
            Reference("Connector", source.mcp.connector, document.path("spec", "source", "mcp", "connector"))
        )
    return found
