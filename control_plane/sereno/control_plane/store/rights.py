"""What rights rest on, read in the transaction that decides by it."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from sereno.control_plane.catalog.caller import Caller
from sereno.control_plane.catalog.item import Item
from sereno.control_plane.catalog.judging import Judge, counted, with_documents
from sereno.control_plane.store import projection
from sereno.subscriptions.documents import Document
from sereno.subscriptions.models import SubscriptionSpec
from sereno.subscriptions.policy.facts import Facts, facts_of


async def facts(connection: AsyncConnection, tenant: str) -> Facts:
    """The facts of a tenant as of now."""
    return facts_of(await projection.rights(connection, tenant))


async def judge(
    connection: AsyncConnection,
    tenants: Collection[str],
    caller: Caller,
    at: datetime,
    documents: Sequence[Document] = (),
) -> Judge:
    """What decides on documents that are applied together."""
    found, live = {}, list[Item]()
    for tenant in sorted(tenants):
        found[tenant] = with_documents(await projection.rights(connection, tenant), documents, tenant)
        agents = {
            document.spec.agent.removeprefix("agent:")
            for document in documents
            if document.tenant == tenant and isinstance(document.spec, SubscriptionSpec)
        }
        if agents and any(grant.subscriptions for grant in found[tenant].grants):
            live += await projection.subscriptions_on(connection, tenant, agents)
    return Judge(caller, at, found, counted(live, found))
