"""Ends of the execution plane's audit chains, chained here: neither plane can rewrite what it told the other."""

from collections.abc import Iterable

from sqlalchemy.ext.asyncio import AsyncConnection

from sereno.control_plane.minting import utc_now
from sereno.control_plane.recording import PLANE
from sereno.control_plane.store.engine import driver
from sereno.mailbox.audit import checkpoint, crossing
from sereno.mailbox.audit.checkpoint import Checkpoint
from sereno.mailbox.audit.keys import Trusted
from sereno.mailbox.engine.telemetry import logger
from sereno.subscriptions.report import AuditEndReport

OTHER = "execution"
_log = logger("audit")


async def anchor(connection: AsyncConnection, reports: Iterable[AuditEndReport], keys: Trusted) -> None:
    """Chain the last end of each tenant in the caller's transaction, as its last statements; what is not signed is logged."""
    raw, at = await driver(connection), utc_now()
    public = {name: key.public for name, key in keys.items() if key.retired_at is None}
    for report in sorted(reports, key=lambda one: one.tenant):
        line = report.signed.encode()
        found = checkpoint.read(line, public)
        if not isinstance(found, Checkpoint) or found.plane != OTHER or report.tenant not in found.heads:
            _log.error("audit_end_refused", tenant=report.tenant, error=str(found)[:200])
            continue
        head = found.heads[report.tenant]
        await crossing.anchor(
            raw, PLANE, report.tenant, head, other=OTHER, at=at, key_id=checkpoint.key_of(line)
        )
