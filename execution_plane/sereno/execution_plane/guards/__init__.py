"""The guards: seven plain functions that decide whether one event may wake one agent, and say why."""

from sereno.execution_plane.guards.order import GUARDS, run
from sereno.execution_plane.guards.passage import (
    Decision,
    Given,
    GuardState,
    Occurrence,
    Passage,
    Reading,
    Verdict,
)
from sereno.execution_plane.guards.subscription import Subscription

__all__ = [
    "GUARDS",
    "Decision",
    "Given",
    "GuardState",
    "Occurrence",
    "Passage",
    "Reading",
    "Subscription",
    "Verdict",
    "run",
]
