"""The life of a message's work under leases: table of transitions, commands, events, and the decider."""

from sereno.mailbox.lease.decider import IllegalTransitionError, Refusal, decide, evolve
from sereno.mailbox.lease.transitions import CLOSED, TRANSITIONS, State, Transition
from sereno.mailbox.lease.work import Terms, Work

__all__ = [
    "CLOSED",
    "TRANSITIONS",
    "IllegalTransitionError",
    "Refusal",
    "State",
    "Terms",
    "Transition",
    "Work",
    "decide",
    "evolve",
]
