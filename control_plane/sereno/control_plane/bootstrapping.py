"""The first start: the default tenant, and the administrator's token from the hash that the installation left."""

import re
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from sereno.control_plane.catalog import declared, token
from sereno.control_plane.catalog.item import Address
from sereno.control_plane.catalog.plan import Intent, Step, step
from sereno.control_plane.catalog.token import EVERY_TENANT
from sereno.control_plane.committing import commit
from sereno.control_plane.minting import new_id, utc_now
from sereno.control_plane.store import heads, projection
from sereno.subscriptions.models.metadata import DEFAULT_TENANT

ACTOR = "svc:bootstrap"
REASON = "installation"
ADMINISTRATOR = "user:admin"
_SHA256 = re.compile(r"[0-9a-f]{64}")


class AdminTokenError(Exception):
    """The file with the hash of the administrator's token cannot be used; the message is fit for a person."""


def read_hash(path: Path) -> str:
    """The SHA-256 in the file, 64 hexadecimal digits. Raises `AdminTokenError`."""
    try:
        text = path.read_text(encoding="ascii").strip().lower()
    except (OSError, UnicodeDecodeError) as fault:
        raise AdminTokenError(f"{path}: the hash of the admin token cannot be read: {fault}") from fault
    if not _SHA256.fullmatch(text):
        raise AdminTokenError(f"{path}: expected the SHA-256 of the admin token, 64 hexadecimal digits")
    return text


async def bootstrap(engine: AsyncEngine, admin_sha256: str | None) -> None:
    """Make the default tenant known and exactly this token the administrator's; nothing when it is so already."""
    async with engine.begin() as connection:
        await heads.lock(connection, [DEFAULT_TENANT])
        tenants = await heads.lock_all(connection)
        changed = await _administrator(connection)
        if admin_sha256:
            changed = await _admit(connection, admin_sha256) or changed
        if changed:
            await heads.raise_versions(connection, tenants)
        elif (await heads.versions(connection, [DEFAULT_TENANT]))[DEFAULT_TENANT] == 0:
            await heads.raise_versions(connection, [DEFAULT_TENANT])


async def _administrator(connection: AsyncConnection) -> bool:
    """Declare the administrator of every tenant, unless that was done; whether it was not."""
    address, at = Address(EVERY_TENANT, "Principal", ADMINISTRATOR), utc_now()
    if await projection.one(connection, address) is not None:
        return False
    command = declared.Declare(address, {"kind": "human", "roles": ["admin"]}, {}, new_id(at))
    answer = step(None, command, Intent(ACTOR, at, REASON))
    if isinstance(answer, Step):
        await commit(connection, [answer], actor=ACTOR, reason=REASON, at=at)
    return True


async def _admit(connection: AsyncConnection, sha256: str) -> bool:
    at = utc_now()
    live = await projection.live(connection, EVERY_TENANT, "Token")
    issue, outdated = token.bootstrap(live, sha256, new_id(at), ADMINISTRATOR)
    intent = Intent(ACTOR, at, REASON)
    answers = [step(item, token.Revoke(item.address), intent) for item in outdated]
    if issue:
        answers.append(step(None, issue, intent))
    steps = [answer for answer in answers if isinstance(answer, Step)]
    refusal = await commit(connection, steps, actor=ACTOR, reason=REASON, at=at)
    if refusal is not None:
        raise AdminTokenError(refusal.message)
    return bool(steps)
