"""Writing steps of the catalog: events, projection, endpoint tokens, outbox and manifest version, all or nothing."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from sereno.control_plane import recording
from sereno.control_plane.announcing import announcements
from sereno.control_plane.catalog.event import NewEvent
from sereno.control_plane.catalog.item import Address
from sereno.control_plane.catalog.plan import Step
from sereno.control_plane.catalog.refusal import Refusal
from sereno.control_plane.minting import PathToken
from sereno.control_plane.store import endpoint_tokens, event_store, heads, projection
from sereno.control_plane.store.engine import driver
from sereno.control_plane.store.event_store import Append, StreamId
from sereno.mailbox.engine import outbox


async def commit(
    connection: AsyncConnection,
    steps: Sequence[Step],
    *,
    actor: str,
    reason: str | None,
    at: datetime,
    tokens: Mapping[Address, PathToken] | None = None,
) -> Refusal | None:
    """Write what changed in the caller's transaction, which has to be rolled back when this refuses."""
    changed = [step for step in steps if step.events]
    if not changed:
        return None
    conflict = await event_store.append(
        connection, _appends(changed), actor=actor, recorded=at, reason=reason
    )
    if conflict is not None:
        where = f"{conflict.stream.stream} of tenant {conflict.stream.tenant}"
        message = f"{where} was changed by another at the same time; read it again and repeat"
        return Refusal("version_conflict", message, conflict.current_version)
    await projection.save(connection, [step.after for step in changed])
    await _keep_tokens(connection, changed, tokens or {})
    tenants = {step.after.address.tenant for step in changed}
    await outbox.append(await driver(connection), "control", announcements(changed))
    await heads.raise_versions(connection, tenants)
    await recording.chain(connection, (event for step in changed for event in step.events))
    return None


def _appends(steps: Sequence[Step]) -> list[Append]:
    return [
        Append(
            StreamId(step.after.address.tenant, step.after.address.stream),
            step.before.revision if step.before else 0,
            tuple(NewEvent(event.type, event.data) for event in step.events),
        )
        for step in steps
    ]


async def _keep_tokens(
    connection: AsyncConnection, steps: Sequence[Step], tokens: Mapping[Address, PathToken]
) -> None:
    endpoints = [step for step in steps if step.after.address.kind == "Endpoint"]
    born = [step.after.address for step in endpoints if step.change == "created"]
    gone = [step.after.address for step in endpoints if step.change == "deleted"]
    await endpoint_tokens.keep(connection, {address: tokens[address].text for address in born})
    await endpoint_tokens.drop(connection, gone)
