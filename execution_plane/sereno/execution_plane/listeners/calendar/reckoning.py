"""What a followed calendar calls for, from what was read of it last (pure)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sereno.execution_plane.listeners.calendar.calendars import Last, Turn
from sereno.execution_plane.listeners.calendar.occurrence import (
    Reading,
    of_date,
    read,
    whereabouts,
)
from sereno.execution_plane.listeners.calendar.plan import MOVED, REMOVED, Plan

LOOK_BACK = timedelta(days=2)
"""An entry that is only seen now is written down as past if it was due so recently."""
_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Reckoned:
    """What a calendar calls for, and which entries of what it no longer calls for take place all the same."""

    reading: Reading
    elsewhere: frozenset[bytes] = frozenset()

    def corrected(self, found: Plan) -> Plan:
        """The plan where what was moved beyond what is reckoned was not cancelled, so that nobody is told it was."""
        removals = [
            replace(each, reason=MOVED)
            if each.reason == REMOVED and each.occurrence.entry in self.elsewhere
            else each
            for each in found.removals
        ]
        return Plan(found.additions, removals)


def reckon(turn: Turn, last: Last, until: datetime) -> Reckoned:
    """What a calendar with these texts calls for until a moment, before its subscription expires."""
    reading = _read(turn, last, until)
    expires = turn.followed.expires
    if expires is not None:
        reading = replace(reading, wanted=[one for one in reading.wanted if one.fire < expires])
    return Reckoned(reading, _elsewhere(turn, last, reading))


def _read(turn: Turn, last: Last, until: datetime) -> Reading:
    followed = turn.followed
    since = max(turn.counted_from - _MOMENT, turn.bounds.looked_at - LOOK_BACK)
    if followed.source.object is None:
        return read(_texts(last), followed.source, followed.zone, since, until)
    name = f"subscription/{followed.source.object.name}"
    found = of_date(name, last.date, followed.source.offset or timedelta())
    uids = frozenset(one.uid for one in found)
    return Reading([one for one in found if since < one.fire <= until], until, uids=uids)


def _elsewhere(turn: Turn, last: Last, reading: Reading) -> frozenset[bytes]:
    keys = {one.key for one in reading.wanted}
    lost = [one for one in last.pending if one.key not in keys and one.uid in reading.uids]
    if not lost:
        return frozenset()
    if turn.followed.source.object is not None:
        return frozenset(one.entry for one in lost)
    return whereabouts(_texts(last), turn.followed.source, turn.followed.zone, lost)


def _texts(last: Last) -> Iterable[str]:
    return [last.texts[href] for href in sorted(last.texts)]
