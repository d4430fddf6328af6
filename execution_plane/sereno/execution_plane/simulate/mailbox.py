"""The mailbox of a simulation: work in memory under the live lease decider, in the order of a live claim."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sereno.mailbox.lease import State, Terms, Work, commands, decide, evolve
from sereno.mailbox.lease.decider import Refusal
from sereno.mailbox.message import Message

# The live mailbox takes a message of one more step of priority as if it had come a minute earlier.
_STEP = timedelta(minutes=1)


@dataclass(slots=True)
class _Item:
    name: str
    message: Message
    order: tuple[datetime, int]
    work: Work


@dataclass(frozen=True, slots=True)
class Lease:
    """A claimed message and the lease on it, both as the simulation names them."""

    message: str
    lease: str


class Mailbox:
    """All mailboxes; messages are named M1, M2, … and leases L1, L2, … in the order in which they came to be."""

    def __init__(self) -> None:
        self._items: list[_Item] = []
        self._open: list[_Item] = []
        self._by_lease: list[_Item] = []

    def deposit(self, message: Message, now: datetime) -> str:
        """Put a message in, and name it."""
        terms = Terms(
            message.max_attempts,
            timedelta(seconds=message.lease_seconds),
            timedelta(seconds=message.max_run_seconds),
            timedelta(seconds=message.max_age_seconds),
        )
        place = len(self._items)
        order = (now - message.priority * _STEP, place)
        item = _Item(f"M{place + 1}", message, order, Work(terms, now))
        self._items.append(item)
        self._open.append(item)
        return item.name

    def claim(
        self, tenant: str, agent: str, *, limit: int, lease: timedelta | None, now: datetime
    ) -> list[Lease]:
        """Lease up to `limit` messages of an agent, first in order first."""
        found: list[Lease] = []
        for item in sorted(self._of(tenant, agent), key=lambda item: item.order):
            if len(found) == limit:
                break
            self._do(item, commands.Reap(now))
            token = len(self._by_lease) + 1
            if not isinstance(self._do(item, commands.Claim(now, token, lease)), Refusal):
                self._by_lease.append(item)
                found.append(Lease(item.name, f"L{token}"))
        return found

    def verb(
        self, lease: str, do: str, *, reason: str, retry_after: timedelta | None, now: datetime
    ) -> str | None:
        """What a verb on a lease answers; None when no such lease was ever handed out."""
        token = int(lease.removeprefix("L"))
        if token > len(self._by_lease):
            return None
        item = self._by_lease[token - 1]
        self._do(item, commands.Reap(now))
        match do:
            case "ack":
                answer = self._do(item, commands.Ack(now, token))
            case "renew":
                answer = self._do(item, commands.Renew(now, token))
            case _:
                answer = self._do(item, commands.Release(now, token, reason, retry_after))
        if isinstance(answer, Refusal):
            return str(answer.status)
        return "cancelled" if do == "renew" and "renewed" not in answer else "ok"

    def of_subscription(self, tenant: str, name: str, command: commands.Command) -> None:
        """Hold, free or end every open message of a subscription."""
        for item in self._open:
            if (item.message.tenant, item.message.subscription.name) == (tenant, name):
                self._do(item, command)

    def _of(self, tenant: str, agent: str) -> Iterable[_Item]:
        self._open = [item for item in self._open if item.work.state not in (State.ACKED, State.DEAD)]
        return [item for item in self._open if (item.message.tenant, item.message.agent) == (tenant, agent)]

    @staticmethod
    def _do(item: _Item, command: commands.Command) -> tuple[str, ...] | Refusal:
        """Apply what the decider makes of a command; the kinds of the events, or the refusal."""
        answer = decide(item.work, command)
        if isinstance(answer, Refusal):
            return answer
        for event in answer:
            item.work = evolve(item.work, event)
        return tuple(event.kind for event in answer)
