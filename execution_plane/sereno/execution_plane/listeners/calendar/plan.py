"""What a new reading of a calendar changes in what was to come, and what becomes of what is due (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from sereno.execution_plane.listeners.calendar.occurrence import Occurrence
from sereno.execution_plane.listeners.schedule import TOLERANCE, Misfire

State = Literal["pending", "emitted", "skipped", "removed"]
ALREADY_PAST, MOVED, REMOVED, EDITED = "already_past", "anchor_moved", "anchor_removed", "edited"
_NEAR = timedelta(days=1)
"""An occurrence of a rule that was edited as a whole is taken for the one that was within a day of it."""


@dataclass(frozen=True, slots=True)
class Known:
    """An occurrence as it was written down."""

    occurrence: Occurrence
    state: State

    @property
    def is_pending(self) -> bool:
        return self.state == "pending"


@dataclass(frozen=True, slots=True)
class Addition:
    """An occurrence to write down: to come, or left out for a reason; `previous` is where it was before."""

    occurrence: Occurrence
    previous: Occurrence | None = None
    left_out: str | None = None


@dataclass(frozen=True, slots=True)
class Removal:
    """A wake-up that will not be, and why."""

    occurrence: Occurrence
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written after a reading."""

    additions: Sequence[Addition]
    removals: Sequence[Removal]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is known of time: until when everything was looked at, and a hole with the reason why nothing came in it."""

    looked_at: datetime
    hole_until: datetime | None = None
    hole_reason: str = ALREADY_PAST

    def left_out(self, fire: datetime) -> str | None:
        """Why a wake-up at this time, only known now, is not one to come."""
        if self.hole_until is not None and self.looked_at < fire <= self.hole_until:
            return self.hole_reason
        return ALREADY_PAST if fire <= self.looked_at else None


def plan(
    wanted: Sequence[Occurrence],
    known: Mapping[str, Known],
    latest: Mapping[bytes, Occurrence],
    bounds: Bounds,
    *,
    edited: bool = False,
) -> Plan:
    """What to write so that exactly the wanted is to come, besides what was decided already.

    `known` are the written ones by key; `latest` is where each entry was when it was last written down. After an
    edit of the subscription what is not wanted any more was not cancelled by anybody else.
    """
    keys = {each.key for each in wanted}
    gone = [each.occurrence for key, each in known.items() if each.is_pending and key not in keys]
    new = [each for each in wanted if each.key not in known or known[each.key].state == "removed"]
    moved = _moves(gone, new)
    additions = [Addition(each, _before(each, moved, latest), bounds.left_out(each.fire)) for each in new]
    elsewhere = {was.key for was in moved.values()}
    removals = [
        Removal(each, EDITED if edited else MOVED if each.key in elsewhere else REMOVED) for each in gone
    ]
    return Plan(additions, removals)


def _before(
    each: Occurrence, moved: Mapping[str, Occurrence], latest: Mapping[bytes, Occurrence]
) -> Occurrence | None:
    was = moved.get(each.key) or latest.get(each.entry)
    return None if was is None or was.anchor == each.anchor else was


def _moves(gone: Sequence[Occurrence], new: Sequence[Occurrence]) -> dict[str, Occurrence]:
    """Where each new occurrence was before: the same one of the entry, else the nearest within a day."""
    by_entry = {each.entry: each for each in gone}
    found = {each.key: by_entry[each.entry] for each in new if each.entry in by_entry}
    taken = {each.key for each in found.values()}
    left: dict[str, list[Occurrence]] = {}
    for each in gone:
        if each.key not in taken:
            left.setdefault(each.uid, []).append(each)
    for each in sorted(new, key=lambda one: one.anchor):
        candidates = left.get(each.uid)
        if each.key in found or not candidates:
            continue
        nearest = min(candidates, key=lambda one: abs(one.anchor - each.anchor))
        if abs(nearest.anchor - each.anchor) <= _NEAR:
            found[each.key] = nearest
            candidates.remove(nearest)
    return found


@dataclass(frozen=True, slots=True)
class Settled:
    """Of what is due: what to emit, and what is left out with its reason."""

    emit: Sequence[Occurrence]
    left_out: Sequence[Removal] = ()


def settle(due: Sequence[Occurrence], misfire: Misfire, now: datetime, *, paused: bool = False) -> Settled:
    """What becomes of the occurrences whose time has come, earliest first: `misfire` decides on those that are late."""
    if paused:
        return Settled((), [Removal(each, "paused") for each in due])
    missed = [each for each in due if each.fire < now - TOLERANCE]
    if misfire == "all" or not missed:
        return Settled(due)
    in_time = due[len(missed) :]
    saved = [each for each in missed if each.fire == missed[-1].fire] if _saves(misfire, in_time) else []
    lost = missed[: len(missed) - len(saved)]
    return Settled([*saved, *in_time], [Removal(each, "misfire") for each in lost])


def _saves(misfire: Misfire, in_time: Sequence[Occurrence]) -> bool:
    return misfire == "latest" and not in_time
