"""The rebuild: the log is folded beside the projection in use, which then gives way where it differs."""

from collections.abc import Sequence
from dataclasses import dataclass

from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.shadow import Difference, Key, Moment, Shadow

CATCH_UP_ROUNDS = 5
FEW = 200

_SQL = queries.load("sereno.mailbox", "shadow.sql")

__all__ = ["Difference", "Rebuilt", "compare", "rebuild"]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What differed from the log and was put right, and what differs still: nothing."""

    mended: Sequence[Difference]
    differences: Sequence[Difference]


async def rebuild(pool: AnyPool) -> Rebuilt:
    """Make work, dead and parked rows what the log tells. Answers that were given stay: they are a log of their own.

    The fold runs while the mailbox works; only the last step, over what happened during it, locks the tables
    for writers. What is equal stays where it is, so that this step is as short as the differences are few.
    """
    async with pool.acquire() as conn:
        shadow = Shadow(conn)
        moment = await _fold(conn, shadow)
        try:
            async with conn.transaction():
                differing = await _settle(conn, shadow, moment)
                mended = await shadow.differences(differing)
                await shadow.put_in_place(differing)
                left = await shadow.differences(await shadow.differing()) if mended else []
        finally:
            await shadow.drop()
        return Rebuilt(mended, left)


async def compare(pool: AnyPool) -> list[Difference]:
    """Where the projection is not what the log tells; nothing is changed."""
    async with pool.acquire() as conn:
        shadow = Shadow(conn)
        moment = await _fold(conn, shadow)
        try:
            async with conn.transaction():
                return await shadow.differences(await _settle(conn, shadow, moment))
        finally:
            await shadow.drop()


async def _fold(conn: AnyConnection, shadow: Shadow) -> Moment:
    """Fold the whole log, and again what went on meanwhile until that is little; nobody waits for it."""
    await shadow.make()
    async with conn.transaction(isolation="repeatable_read"):
        moment = await shadow.moment()
        await shadow.fold_all(moment.at)
    for _ in range(CATCH_UP_ROUNDS):
        async with conn.transaction(isolation="repeatable_read"):
            later = await shadow.moment()
            changed = await shadow.changed_since(moment)
            await shadow.fold_again(changed, later.at)
        moment = later
        if len(changed) <= FEW:
            break
    return moment


async def _settle(conn: AnyConnection, shadow: Shadow, moment: Moment) -> dict[str, list[Key]]:
    """The rest of the log under the lock, and where the projection differs from the whole."""
    await conn.execute(_SQL["lock"])
    last = await shadow.moment()
    await shadow.fold_again(await shadow.changed_since(moment), last.at)
    differing = await shadow.differing()
    # Whatever was missed on the way is read once more: what still differs then does.
    suspects = {key for keys in differing.values() for key in keys}
    if suspects:
        await shadow.fold_again(sorted(suspects), last.at)
        differing = await shadow.differing()
    return differing
