"""The backlog of a simulation: events that are held, and candidates that wait for their verdict."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from uuid import UUID

from sereno.execution_plane.guards.changes import Hold
from sereno.execution_plane.guards.lineage import Ancestor
from sereno.execution_plane.guards.passage import Passage
from sereno.execution_plane.pipeline.arrival import Arrival

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Held:
    """An event that a subscription has yet to hear of, and what holds it."""

    arrival: Arrival
    ancestors: tuple[Ancestor, ...]
    cause: str
    suspension: UUID | None

    @property
    def is_slot(self) -> bool:
        """Whether it is a nominal instant of a schedule, to which `misfire` applies."""
        return self.arrival.envelope.origin.startswith(("time/", "calendar/"))


@dataclass(slots=True)
class Backlog:
    """What waits, by subscription, in order of arrival."""

    held: dict[Key, list[Held]] = field(default_factory=dict)
    candidates: dict[Key, dict[str, Held]] = field(default_factory=dict)

    def note(self, passage: Passage, arrival: Arrival) -> None:
        """Keep the event where its decision holds it or lets it be judged."""
        key = passage.subscription.tenant, passage.subscription.name
        ancestors = passage.given.state.ancestors
        hold = next((change for change in passage.changes if isinstance(change, Hold)), None)
        if hold is not None:
            self.held.setdefault(key, []).append(Held(arrival, ancestors, hold.cause, hold.suspension))
        elif passage.decided.outcome == "awaiting_verdict":
            waiting = Held(arrival, ancestors, "condition", None)
            self.candidates.setdefault(key, {})[arrival.envelope.id] = waiting

    def take(self, key: Key, leaves: Callable[[Held], bool]) -> list[Held]:
        """Take out what may leave."""
        waiting = self.held.get(key, [])
        leaving = [one for one in waiting if leaves(one)]
        self.held[key] = [one for one in waiting if not leaves(one)]
        return leaving

    def give_back(self, key: Key, items: Iterable[Held]) -> None:
        """Keep these after all, before what came later."""
        self.held[key] = [*items, *self.held.get(key, [])]

    def candidate_of(self, event: str, subscription: str | None, tenant: str | None) -> list[Key]:
        """The subscriptions for which this event waits for a verdict, by name."""
        return sorted(
            key
            for key, waiting in self.candidates.items()
            if event in waiting and subscription in (None, key[1]) and tenant in (None, key[0])
        )
