"""The one table of what may become of a message's work.

Work is `ready` until a claim leases it; a lease is named by its token, larger at every claim. A verb
counts only while its token is that of the live lease, which ends at `until` whatever anybody thinks:
after that nothing but a new claim acts. A lease never runs past its hard deadline (claim + `max_run`)
nor past the give-up time (first claim + `max_age`; while the work is parked or held, that clock
stands). Attempts are counted at the claim and given back by what was no attempt: `not_started`, park,
cancel. What was acknowledged stays so; what is dead comes back only when a person redrives it.

The diagram in the part's README is drawn from this table, and the database's CHECKs are held against it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """The stored states of work."""

    READY = "ready"
    LEASED = "leased"
    PARKED = "parked"
    ACKED = "acked"
    DEAD = "dead"


CLOSED = frozenset({State.ACKED, State.DEAD})
"""What leaves the hot table."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One legal move: in `source`, an event of this kind leads to `target`."""

    source: State
    kind: str
    target: State


TRANSITIONS: tuple[Transition, ...] = (
    Transition(State.READY, "claimed", State.LEASED),
    Transition(State.LEASED, "renewed", State.LEASED),
    Transition(State.LEASED, "acked", State.ACKED),
    Transition(State.LEASED, "released", State.READY),
    Transition(State.LEASED, "expired", State.READY),
    Transition(State.LEASED, "cancelled", State.READY),
    Transition(State.LEASED, "parked", State.PARKED),
    Transition(State.PARKED, "resumed", State.READY),
    Transition(State.READY, "died", State.DEAD),
    Transition(State.LEASED, "died", State.DEAD),
    Transition(State.PARKED, "died", State.DEAD),
    Transition(State.READY, "held", State.READY),
    Transition(State.LEASED, "held", State.LEASED),
    Transition(State.PARKED, "held", State.PARKED),
    Transition(State.READY, "unheld", State.READY),
    Transition(State.LEASED, "unheld", State.LEASED),
    Transition(State.PARKED, "unheld", State.PARKED),
    Transition(State.LEASED, "withdrawn", State.LEASED),
    Transition(State.DEAD, "redriven", State.READY),
)


def mermaid(transitions: tuple[Transition, ...] = TRANSITIONS) -> str:
    """The table as a Mermaid state diagram; moves between the same two states share an arrow."""
    return "\n".join(["stateDiagram-v2", "    [*] --> ready: deposited", *_arrows(transitions), *_ends()])


def _arrows(transitions: tuple[Transition, ...]) -> Iterator[str]:
    kinds: dict[tuple[State, State], list[str]] = {}
    for move in transitions:
        kinds.setdefault((move.source, move.target), []).append(move.kind)
    for (source, target), names in kinds.items():
        yield f"    {source} --> {target}: {', '.join(names)}"


def _ends() -> Iterator[str]:
    yield from (f"    {state} --> [*]" for state in State if state in CLOSED)
