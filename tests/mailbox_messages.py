"""Messages for tests of the mailbox."""

import itertools
from typing import Any
from uuid import UUID

from sereno.envelope.identifiers import uuid7
from sereno.mailbox.message import Message, SubscriptionRef

_serial = itertools.count(1)


def message(**fields: Any) -> Message:
    """A message of tenant `acme` for agent `triage`, each with an id of its own."""
    given: dict[str, Any] = {
        "id": new_id(),
        "tenant": "acme",
        "agent": "triage",
        "subscription": SubscriptionRef("refund-watch", 3),
        "instruction": "Draft a reply.",
        "envelopes": [
            {"id": "1", "source": "/tickets", "type": "com.zendesk.ticket.created", "specversion": "1.0"}
        ],
    }
    return Message(**(given | fields))


def new_id() -> UUID:
    number = next(_serial)
    return uuid7(1_780_000_000_000 + number, number.to_bytes(10, "big"))
