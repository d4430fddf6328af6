"""Carries what a manifest changed into the mailboxes, in the transaction that puts the manifest in force."""

from collections.abc import Iterable

from sereno.execution_plane.manifest.change import Change, Effect
from sereno.mailbox import limits, standing
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.wake import Box
from sereno.subscriptions.snapshot import CatalogObject

PRINCIPAL = "system:manifest"


async def apply(connection: AnyConnection, changes: Iterable[Change]) -> set[Box]:
    """Hold, free or end the messages of each subscription; answers the mailboxes to wake after the commit."""
    boxes: set[Box] = set()
    changes = tuple(changes)
    await standing.lock(connection, {(change.tenant, change.subscription) for change in changes})
    for change in changes:
        boxes |= await _apply(connection, change)
    return boxes


async def limit(connection: AnyConnection, objects: Iterable[CatalogObject]) -> None:
    """Give each agent the limit that it is declared with; one that is not there any more keeps its last."""
    for agent in objects:
        if agent.kind == "Agent":
            await limits.set_concurrency(connection, agent.tenant, agent.name, agent.spec.get("concurrency"))


async def _apply(connection: AnyConnection, change: Change) -> set[Box]:
    tenant, subscription = change.tenant, change.subscription
    match change.effect:
        case Effect.PAUSED | Effect.REVOKED as effect:
            await standing.hold(connection, tenant, subscription, effect.value, principal=PRINCIPAL)
        case Effect.RESUMED:
            return await standing.unhold(
                connection, tenant, subscription, Effect.PAUSED.value, principal=PRINCIPAL
            )
        case Effect.RESTORED:
            return await standing.unhold(
                connection, tenant, subscription, Effect.REVOKED.value, principal=PRINCIPAL
            )
        case Effect.WITHDRAWN as effect:
            await standing.withdraw(connection, tenant, subscription, effect.value, principal=PRINCIPAL)
    return set()
