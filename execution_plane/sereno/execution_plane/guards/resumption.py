"""Resumption: what becomes of held events when a person lifts a suspension, or a stop ends."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from sereno.execution_plane.guards.changes import Change, Remember, RememberPatience, RememberSubject
from sereno.execution_plane.guards.patience import Patience
from sereno.execution_plane.guards.state import NOBODY, Memory
from sereno.execution_plane.guards.suspension import Suspension

Choice = Literal["deliver", "drop", "review"]
"""What a person says of the backlog; `review` keeps it where it is."""
Misfire = Literal["skip", "latest", "all"]


class Resumed(NamedTuple):
    """One held event that leaves: it enters again at guard 3, or is dropped with this reason."""

    place: int
    drop: str | None = None


def resume(slots: Sequence[bool], choice: Choice, misfire: Misfire, cause: str) -> list[Resumed]:
    """What becomes of a backlog in its order of arrival; `slots` says which of it are nominal instants of a schedule.

    Instants follow `misfire` (contract, 3.5): of several that were held only the latest, or none, still fires.
    """
    if choice == "review":
        return []
    if choice == "drop":
        return [Resumed(place, cause) for place in range(len(slots))]
    last = max((place for place, slot in enumerate(slots) if slot), default=None)
    return [
        Resumed(place, "misfire" if slot and _missed(misfire, is_last=place == last) else None)
        for place, slot in enumerate(slots)
    ]


def _missed(misfire: Misfire, *, is_last: bool) -> bool:
    return misfire == "skip" or (misfire == "latest" and not is_last)


def re_arm(suspension: Suspension, memory: Memory) -> list[Change]:
    """What a lifted suspension begins anew: the burst that tripped it is not counted again."""
    key = suspension.tenant, suspension.subscription
    if suspension.cause in ("errors", "no_change", "expression_cost"):
        return [RememberPatience(key, Patience())]
    if suspension.cause != "storm":
        return []
    if suspension.subject is not None:
        return [RememberSubject((*key, suspension.subject), NOBODY)]
    return [Remember(key, memory._replace(arrivals=None))]
