"""People's answers to parked work, which come down as platform events: each resumes its message, once."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from sereno.envelope.envelope import Envelope
from sereno.envelope.identifiers import from_people
from sereno.envelope.types import APPROVAL_RESOLVED
from sereno.mailbox import parking
from sereno.mailbox.connection import AnyPool

ORIGIN = "platform"


async def resume(pool: AnyPool, envelopes: Iterable[Envelope]) -> set[tuple[str, str]]:
    """Resume what the control plane answered among these events; the mailboxes to wake.

    Only the platform writes that origin. A message that is parked no longer, by another answer or its deadline, stays.
    """
    boxes: set[tuple[str, str]] = set()
    for envelope in envelopes:
        found = _message(envelope)
        if found is not None:
            message, said, by = found
            boxes |= await parking.answer(pool, [(envelope.tenantid, message, said)], by)
    return boxes


def _message(envelope: Envelope) -> tuple[UUID, dict[str, Any], str] | None:
    data = envelope.data
    if envelope.type != APPROVAL_RESOLVED or envelope.origin != ORIGIN or not isinstance(data, dict):
        return None
    if data.get("kind") != "message":
        return None
    try:
        _, message = from_people(str(data.get("message")))
    except ValueError:
        return None
    said = {key: value for key, value in data.items() if key in {"outcome", "answer", "reason", "by"}}
    return UUID(str(message)), said, str(data.get("by"))
