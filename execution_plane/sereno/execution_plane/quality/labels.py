"""Labels: whether a verdict was right, said by a person; the last word counts."""

from collections.abc import Sequence
from typing import Literal, NamedTuple
from uuid import UUID

from sereno.execution_plane.explain.asked import Found, find
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.problems import Problem

SQL = queries.load("sereno.execution_plane.quality", "quality.sql")
Word = Literal["right", "wrong"]


class Labelled(NamedTuple):
    """A verdict of a condition, as it was when it was labelled."""

    tenant: str
    receiptid: UUID
    subscription: str
    criterion_version: str
    met: bool
    confidence: float


async def meant_by(conn: AnyConnection, tenants: Sequence[str], text: str) -> Found | None:
    """What a person names: the one judged event with this id, or what else the text names. Raises `Problem`."""
    # The event of a verdict has the id of its candidate: only one of the two was judged.
    judged = await conn.fetch(SQL["judged_events"], list(tenants), text)
    if len(judged) == 1:
        return Found(judged[0]["tenant_id"], "rcp", judged[0]["receiptid"])
    return await find(conn, tenants, text)


async def verdict(conn: AnyConnection, found: Found, subscription: str | None) -> Labelled:
    """The one verdict that is meant by a receipt or a message. Raises `Problem` when there is none, or several."""
    rows = [
        row for receipt in await _receipts(conn, found) for row in await _judged(conn, found.tenant, receipt)
    ]
    meant = [one for one in rows if subscription in (None, one.subscription)]
    if not meant:
        raise Problem(
            409, "not_judged", "no condition was judged on it; only a verdict can be right or wrong"
        )
    if len({(one.receiptid, one.subscription) for one in meant}) > 1:
        names = ", ".join(sorted({one.subscription for one in meant}))
        raise Problem(
            422, "bad_input", f"several verdicts rest on it; name the event's receipt and one of: {names}"
        )
    return meant[0]


async def _receipts(conn: AnyConnection, found: Found) -> Sequence[UUID]:
    if found.prefix == "rcp":
        return [found.identifier]
    if found.prefix == "msg":
        rows = await conn.fetch(SQL["receipts_of_message"], found.tenant, found.identifier)
        return [row["receiptid"] for row in rows]
    raise Problem(422, "bad_input", "expected rcp_…, msg_… or the id of an event")


async def _judged(conn: AnyConnection, tenant: str, receipt: UUID) -> list[Labelled]:
    return [
        Labelled(
            tenant,
            row["receiptid"],
            row["subscription"],
            row["numbers"].get("criterion", ""),
            row["reason"] == "condition_met",
            row["numbers"]["confidence"],
        )
        for row in await conn.fetch(SQL["verdicts"], tenant, receipt)
        if row["reason"] in {"condition_met", "not_met"}
    ]


async def put(conn: AnyConnection, labelled: Labelled, word: Word, by: str) -> None:
    """Keep what a person says of it."""
    await conn.execute(
        SQL["label"],
        labelled.tenant,
        labelled.receiptid,
        labelled.subscription,
        word,
        labelled.met,
        labelled.criterion_version,
        by,
    )
