"""The mailbox of a simulation: work in memory under the live lease decider, in the order of a live claim."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sereno.mailbox.lease import CLOSED, State, Terms, Work, commands, decide, evolve
from sereno.mailbox.lease.decider import Refusal

# The live mailbox takes a message of one more step of priority as if it had come a minute earlier.
_STEP = timedelta(minutes=1)
_Lane = dict[str, "_Item"]


class Parcel(NamedTuple):
    """What a mailbox needs to know of a message."""

    id: UUID
    tenant: str
    agent: str
    subscription: str
    priority: int
    serial_key: str | None
    terms: Terms


@dataclass(slots=True)
class _Item:
    name: str
    message: Parcel
    place: int
    deposited: datetime
    _work: Work | None = None

    @property
    def work(self) -> Work:
        """Its life so far; most messages of a simulation are never touched."""
        if self._work is None:
            self._work = Work(self.message.terms, self.deposited)
        return self._work

    @work.setter
    def work(self, after: Work) -> None:
        self._work = after

    @property
    def order(self) -> tuple[datetime, int]:
        """In which place a claim finds it."""
        return self.deposited - self.message.priority * _STEP, self.place

    @property
    def of(self) -> tuple[str, str]:
        """Tenant and subscription."""
        return self.message.tenant, self.message.subscription


@dataclass(frozen=True, slots=True)
class Lease:
    """A claimed message and the lease on it, both as the simulation names them."""

    message: str
    lease: str


@dataclass(frozen=True, slots=True)
class Closed:
    """A message that is done: acknowledged or dead."""

    message: Parcel
    state: State


class Mailbox:
    """All mailboxes; messages are named M1, M2, … and leases L1, L2, … in the order in which they came to be.

    `closed` gathers what was acknowledged or died since it was last taken.
    """

    def __init__(self) -> None:
        self.closed: list[Closed] = []
        self._deposited = 0
        self._by_agent: dict[tuple[str, str], _Lane] = defaultdict(dict)
        self._by_subscription: dict[tuple[str, str], _Lane] = defaultdict(dict)
        self._by_lease: list[_Item] = []

    def deposit(self, message: Parcel, now: datetime) -> str:
        """Put a message in, and name it."""
        self._deposited += 1
        name = f"M{self._deposited}"
        item = _Item(name, message, self._deposited, now)
        self._by_agent[message.tenant, message.agent][name] = item
        self._by_subscription[message.tenant, message.subscription][name] = item
        return name

    def claim(
        self, tenant: str, agent: str, *, limit: int, lease: timedelta | None, now: datetime
    ) -> list[Lease]:
        """Lease up to `limit` messages of an agent, first in order first; of a serial key only the head."""
        found: list[Lease] = []
        behind: set[tuple[str, str]] = set()
        for item in sorted(self._by_agent.get((tenant, agent), {}).values(), key=lambda item: item.order):
            if len(found) == limit:
                break
            self._do(item, commands.Reap(now))
            serial = item.message.serial_key
            if serial is not None and (item.message.subscription, serial) in behind:
                continue
            token = len(self._by_lease) + 1
            if not isinstance(self._do(item, commands.Claim(now, token, lease)), Refusal):
                self._by_lease.append(item)
                found.append(Lease(item.name, f"L{token}"))
            if serial is not None and item.work.state not in CLOSED:
                behind.add((item.message.subscription, serial))
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

    def message_of(self, lease: str) -> Parcel | None:
        """The message that a lease was handed out for."""
        token = int(lease.removeprefix("L"))
        return None if token > len(self._by_lease) else self._by_lease[token - 1].message

    def of_subscription(self, tenant: str, name: str, command: commands.Command) -> None:
        """Hold, free, reap or end every open message of a subscription."""
        for item in list(self._by_subscription.get((tenant, name), {}).values()):
            self._do(item, command)

    def take_closed(self) -> Iterator[Closed]:
        """What was acknowledged or died since this was asked last."""
        while self.closed:
            yield self.closed.pop(0)

    def _do(self, item: _Item, command: commands.Command) -> tuple[str, ...] | Refusal:
        """Apply what the decider makes of a command; the kinds of the events, or the refusal."""
        answer = decide(item.work, command)
        if isinstance(answer, Refusal):
            return answer
        for event in answer:
            item.work = evolve(item.work, event)
        if answer and item.work.state in CLOSED:
            self._close(item)
        return tuple(event.kind for event in answer)

    def _close(self, item: _Item) -> None:
        self._by_agent.get((item.message.tenant, item.message.agent), {}).pop(item.name, None)
        self._by_subscription.get(item.of, {}).pop(item.name, None)
        self.closed.append(Closed(item.message, item.work.state))
