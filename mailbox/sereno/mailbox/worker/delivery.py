"""A message in the hands of a handler, and the ways in which a handler can end other than by returning."""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from sereno.envelope.identifiers import from_people
from sereno.mailbox.client import LeasedMessage
from sereno.mailbox.lease_items import Status
from sereno.mailbox.worker.holding import Holding


@dataclass(frozen=True, slots=True)
class Delivery(LeasedMessage):
    """One claimed message, with what its holder may do before the handler ends."""

    holding: Holding

    def report(self, progress: object) -> None:
        """Show how far the work is (JSON); it travels with a renewal of the lease."""
        self.holding.report(progress)

    async def check(self) -> Status:
        """Whether this holder may still act, asked right now; do so before an effect that must not happen twice."""
        return await self.holding.check()

    async def emit(self, type: str, data: object = None, *, subject: str | None = None) -> str:  # noqa: A002 - CloudEvents' name
        """Send an event of the agent's own; its receipt's id. Raises `LeaseLostError` when the lease is not live."""
        return await self.holding.emit(type, data, subject)

    async def data(self, envelope: Mapping[str, Any]) -> object:
        """The data of one of the message's envelopes, wherever it is: JSON parsed, anything else as bytes; None without.

        Raises `MailboxRefusedError` when it may not be read (403), is kept no longer (410), or is its source's (422).
        """
        if "data" in envelope:
            return envelope["data"]
        if "data_base64" in envelope:
            return b64decode(envelope["data_base64"])
        reference = envelope.get("dataref")
        return None if reference is None else await self.holding.data(str(reference), self.id)

    async def ack(
        self, result: object = None, *, usage: Mapping[str, Any] | None = None, connection: object = None
    ) -> None:
        """Acknowledge now, or inside the transaction that is open on a PostgreSQL `connection` of role `sereno_worker`.

        Then the caller's writes and the acknowledgement become one: commit right after it, and raise to undo
        both. What the handler returns afterwards counts no more. Raises `LeaseLostError` when the lease is not
        live; on a connection the transaction is then aborted.
        """
        await self.holding.ack(result, usage, connection)


@dataclass(frozen=True, slots=True)
class Result:
    """What a handler may return instead of a bare result: the result and, apart from it, the usage to report."""

    value: object
    usage: Mapping[str, Any] | None = None


class Release(Exception):  # noqa: N818 - a verb of the mailbox, raised to leave the handler
    """Give the message back for another attempt, after `retry_after` or the server's back-off."""

    def __init__(self, reason: str, retry_after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after


class Reject(Release):
    """Nobody can ever process this message: it is dead at once. `why` is for whoever looks into it."""

    def __init__(self, why: str | None = None) -> None:
        super().__init__("rejected" if why is None else f"rejected: {why}")


class Park(Exception):  # noqa: N818 - a verb of the mailbox, raised to leave the handler
    """Set the message aside until a person or another message answers; the answer comes with the next claim."""

    def __init__(
        self,
        waiting_for: Literal["approval", "question", "dependency"],
        question: str | None = None,
        *,
        options: Sequence[str] = (),
        deadline: datetime | None = None,
        remind_after: timedelta | None = None,
        dependency: str | None = None,
    ) -> None:
        super().__init__(waiting_for)
        self.waiting_for = waiting_for
        self.question = question
        self.options = options
        self.deadline = deadline
        self.remind_after = remind_after
        self.dependency: UUID | None = None if dependency is None else from_people(dependency)[1]


class Accepted(Exception):  # noqa: N818 - an outcome, raised to leave the handler
    """Somebody else works on the message and ends its lease with its token; the worker only keeps the lease."""

    def __init__(self, progress: object = None) -> None:
        super().__init__("accepted")
        self.progress = progress
