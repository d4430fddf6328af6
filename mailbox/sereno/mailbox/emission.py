"""Events that an agent emits while it holds a lease: who says it, from which work, is the platform's to set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from sereno.mailbox.connection import AnyConnection


@dataclass(frozen=True, slots=True)
class Emission:
    """One event of an agent, with the work that caused it as the log knows it.

    `lineage`, `envelopes` and `context` are those of the message whose lease `token` is live; `traceparent` is the place
    of the event in the trace of that work.
    """

    token: int
    tenant: str
    agent: str
    message_id: UUID
    run_id: UUID
    principal: str
    on_behalf_of: str | None
    subscription: str
    lineage: Sequence[Mapping[str, Any]]
    envelopes: Sequence[Mapping[str, Any]]
    context: Mapping[str, Any]
    type: str
    data: object
    subject: str | None
    traceparent: str | None = None


class Emitter(Protocol):
    """Takes emissions into the ingress; the execution plane supplies one that writes its outbox."""

    async def emit(self, conn: AnyConnection, emissions: Sequence[Emission]) -> Sequence[UUID]:
        """Write them in the caller's transaction; answers a receipt id each, in order."""
