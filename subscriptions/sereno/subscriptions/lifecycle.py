"""The life of a subscription: one table of allowed steps, and the decider that reads it.

People move a subscription between active and paused; time and counts end it as expired or exhausted; an approver
answers pending_approval with active or rejected; deleting ends any life, and only a revival begins another.
A suspension is no state: it is a separate record (`sus_...`), lifted by an authorised person.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal


class State(StrEnum):
    """Where a subscription stands; the names are the contract's."""

    DRAFT = "draft"
    PENDING_APPROVAL = "pending_approval"
    ACTIVE = "active"
    PAUSED = "paused"
    EXPIRED = "expired"
    EXHAUSTED = "exhausted"
    REJECTED = "rejected"
    DELETED = "deleted"


Verb = Literal[
    "submit",
    "approve",
    "reject",
    "activate",
    "pause",
    "resume",
    "edit",
    "expire",
    "exhaust",
    "delete",
    "revive",
]

# (state, verb) -> next state. What is not here is refused.
TRANSITIONS: dict[tuple[State, Verb], State] = {
    (State.DRAFT, "submit"): State.PENDING_APPROVAL,
    (State.DRAFT, "activate"): State.ACTIVE,
    (State.DRAFT, "edit"): State.DRAFT,
    (State.DRAFT, "delete"): State.DELETED,
    (State.PENDING_APPROVAL, "approve"): State.ACTIVE,
    (State.PENDING_APPROVAL, "reject"): State.REJECTED,
    (State.PENDING_APPROVAL, "edit"): State.PENDING_APPROVAL,
    (State.PENDING_APPROVAL, "delete"): State.DELETED,
    (State.ACTIVE, "pause"): State.PAUSED,
    (State.ACTIVE, "edit"): State.ACTIVE,
    (State.ACTIVE, "expire"): State.EXPIRED,
    (State.ACTIVE, "exhaust"): State.EXHAUSTED,
    (State.ACTIVE, "delete"): State.DELETED,
    (State.PAUSED, "resume"): State.ACTIVE,
    (State.PAUSED, "edit"): State.PAUSED,
    (State.PAUSED, "expire"): State.EXPIRED,
    (State.PAUSED, "delete"): State.DELETED,
    (State.EXPIRED, "edit"): State.ACTIVE,
    (State.EXPIRED, "delete"): State.DELETED,
    (State.EXHAUSTED, "edit"): State.ACTIVE,
    (State.EXHAUSTED, "delete"): State.DELETED,
    (State.REJECTED, "submit"): State.PENDING_APPROVAL,
    (State.REJECTED, "activate"): State.ACTIVE,
    (State.REJECTED, "delete"): State.DELETED,
    (State.DELETED, "revive"): State.ACTIVE,
}

# Where a life may begin: by the rights of whoever creates it.
BORN = (State.DRAFT, State.PENDING_APPROVAL, State.ACTIVE)

# Verbs that say why.
REASONED: frozenset[Verb] = frozenset({"reject", "pause", "resume", "delete", "revive"})


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription's life so far: its state and the version of its text; version 0 was never created."""

    state: State | None = None
    version: int = 0


@dataclass(frozen=True, slots=True)
class Create:
    """Begins a life; `state` is where the creator's rights put it."""

    actor: str
    state: Literal[State.DRAFT, State.PENDING_APPROVAL, State.ACTIVE] = State.ACTIVE
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Asks for one step of the table."""

    verb: Verb
    actor: str
    reason: str | None = None
    expected_version: int | None = None


Command = Create | Step


@dataclass(frozen=True, slots=True)
class Moved:
    """One step of a life, as it is stored: verb, from, to, by whom, why, and the version it leaves."""

    verb: str
    before: State | None
    after: State
    actor: str
    reason: str | None
    version: int


Event = Moved


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a step is not taken: a stable code and a sentence."""

    code: Literal["exists", "unknown", "not_allowed", "reason_required", "version_conflict"]
    message: str


def initial() -> Subscription:
    """The life of a name that was never declared."""
    return Subscription()


def decide(state: Subscription, command: Command) -> list[Event] | Refusal:
    """The events that `command` causes in `state`, or why it causes none."""
    if isinstance(command, Create):
        if state.state is not None:
            return Refusal("exists", f"the subscription exists already and is {state.state}")
        return [Moved("create", None, command.state, command.actor, command.reason, 1)]
    if state.state is None:
        return Refusal("unknown", "there is no such subscription")
    if command.expected_version not in (None, state.version):
        return Refusal("version_conflict", f"the current version is {state.version}")
    after = TRANSITIONS.get((state.state, command.verb))
    if after is None:
        return Refusal("not_allowed", _not_allowed(state.state, command.verb))
    if command.verb in REASONED and not (command.reason or "").strip():
        return Refusal("reason_required", f"{command.verb} needs a reason")
    version = state.version + (command.verb in ("edit", "revive"))
    return [Moved(command.verb, state.state, after, command.actor, command.reason, version)]


def evolve(state: Subscription, event: Event) -> Subscription:
    """The life after `event`."""
    return replace(state, state=event.after, version=event.version)


def diagram() -> str:
    """The table as a Mermaid state diagram, as the documentation shows it."""
    arrows: dict[tuple[State, State], list[str]] = {}
    for (before, verb), after in TRANSITIONS.items():
        arrows.setdefault((before, after), []).append(verb)
    births = [f"    [*] --> {state}: create" for state in BORN]
    steps = [f"    {before} --> {after}: {', '.join(verbs)}" for (before, after), verbs in arrows.items()]
    return "\n".join(["stateDiagram-v2", *births, *steps]) + "\n"


def _not_allowed(state: State, verb: Verb) -> str:
    allowed = [name for (before, name) in TRANSITIONS if before is state]
    return f"cannot {verb} a subscription that is {state}; it allows {', '.join(allowed)}"
