"""What stands in the mailbox of tenant `acme`, agent `triage`, read as people read it."""

from typing import Any

from sereno.envelope.identifiers import from_people
from sereno.mailbox import listing
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.principal import SYSTEM


async def shown(pool: AnyPool) -> list[dict[str, Any]]:
    """Every message with its history, in the order of deposit."""
    listed = await listing.messages(pool, "acme", "triage", limit=1000)
    found = [await listing.message(pool, from_people(row["id"])[1], SYSTEM) for row in reversed(listed)]
    return [message for message in found if message is not None]


async def events(pool: AnyPool, kind: str | None = None) -> list[dict[str, Any]]:
    """The events of all messages, oldest first, or those of one kind."""
    every = [event for message in await shown(pool) for event in message["history"]]
    return sorted(
        (event for event in every if kind in {None, event["kind"]}), key=lambda event: int(event["position"])
    )


async def outcomes(pool: AnyPool) -> list[tuple[str, str | None, int]]:
    """State, reason and attempts of what is closed, in the order of its end."""
    closed = [message for message in await shown(pool) if message["state"] in {"acked", "dead"}]
    closed.sort(key=lambda message: message["history"][-1]["at"])
    return [(message["state"], message["reason"], message["attempts"]) for message in closed]


async def still_open(pool: AnyPool) -> list[tuple[str, int]]:
    """State and attempts of what is not closed, in the order of deposit."""
    every = await shown(pool)
    return [(m["state"], m["attempts"]) for m in every if m["state"] not in {"acked", "dead"}]
