"""What recurs, compiled once: the instants of a series or of a cron line, from any moment on and before any moment."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from heapq import merge

from sereno.subscriptions.recurrence.calendar_series import by_uid, read_series, refuse_other_type
from sereno.subscriptions.recurrence.calendar_text import parse_calendar
from sereno.subscriptions.recurrence.cron import check_cron, cron_instants, cron_shaped
from sereno.subscriptions.recurrence.local_time import DEFAULT, Placed, Policy, Shaped, anchor, place
from sereno.subscriptions.recurrence.refusal import Refused
from sereno.subscriptions.recurrence.rule_instants import Start
from sereno.subscriptions.recurrence.series import BEGINNING, Excluded, Series, Written, occurrences
from sereno.subscriptions.recurrence.steps import Steps

_FIRST_LOOK = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Recurring:
    """`since(moment)` gives the ascending instants (UTC) not before a moment; nothing lies before `beginning`.

    `zone` is whose clock the schedule follows, and `shaped` tells which of its instants a change of it shaped.
    """

    since: Callable[[datetime], Iterator[datetime]]
    beginning: datetime
    zone: tzinfo
    shaped: Callable[[Iterator[datetime]], Iterator[tuple[datetime, Shaped | None]]]

    def last_before(self, before: datetime) -> datetime | None:
        """The last instant strictly earlier than a moment, found by looking back further and further."""
        back = _FIRST_LOOK
        while True:
            reaches_back = before - BEGINNING > back and before - back > self.beginning
            begin = before - back if reaches_back else self.beginning
            last = None
            for instant in self.since(begin):
                if instant >= before:
                    break
                last = instant
            if last is not None or not reaches_back:
                return last
            back *= 4


def of_series(series: Series) -> Recurring:
    """The instants of a series; Refused when it has local times and no zone."""
    if series.start.floating:
        raise Refused("bad_input", "zone: expected one, because the times of this schedule name none")
    return Recurring(
        lambda moment: (each.instant for each in occurrences(series, moment)),
        _beginning(series),
        series.start.zone,
        lambda instants: _shaped(series, instants),
    )


def _shaped(series: Series, instants: Iterator[datetime]) -> Iterator[tuple[datetime, Shaped | None]]:
    for instant in instants:
        found = next(occurrences(series, instant), None)
        yield instant, found.shaped if found is not None and found.instant == instant else None


def _beginning(series: Series) -> datetime:
    """Before the start of a series there may be occurrences that were added or moved there."""
    if series.added or series.overrides:
        return BEGINNING
    try:
        return anchor(series.start.local, series.start.zone)
    except OverflowError:
        return BEGINNING


def of_calendar(
    text: str,
    zone: tzinfo | None,
    policy: Policy,
    added: Sequence[Written] = (),
    left_out: Sequence[Written] = (),
) -> Recurring:
    """The instants of the one series that iCalendar text holds, with times added and left out besides."""
    calendar = parse_calendar(text)
    found = by_uid(calendar)
    if len(found) != 1:
        raise Refused("bad_input", f"ics: expected one series, not {len(found)}")
    uid, entries = found[0]
    series = read_series(uid, entries, calendar, zone, policy).series
    for time in added:
        refuse_other_type(time, series.start)
    return of_series(replace(series, added=(*series.added, *added), left_out=(*series.left_out, *left_out)))


def of_cron(
    line: str, zone: tzinfo, added: Sequence[Written] = (), left_out: Sequence[Written] = ()
) -> Recurring:
    """The instants of a cron line, with times added and left out; those before 1970 are of no concern."""
    check_cron(line)
    if not added and not left_out:
        return Recurring(
            lambda moment: cron_instants(line, zone, moment),
            _CRON_BEGINS,
            zone,
            lambda instants: cron_shaped(line, zone, instants),
        )
    start = Start(_CRON_BEGINS.replace(tzinfo=None), zone)
    for time in added:
        refuse_other_type(time, start)
    excluded = Excluded(Series(start, left_out=tuple(left_out)), BEGINNING, Steps())
    more = sorted({p.instant for t in added for p in place(t.local, t.zone or zone, DEFAULT)})
    return Recurring(
        lambda moment: _changed(line, zone, moment, more, excluded),
        _CRON_BEGINS,
        zone,
        lambda instants: cron_shaped(line, zone, instants, frozenset(more)),
    )


_CRON_BEGINS = datetime(1970, 1, 1, tzinfo=UTC)


def _changed(
    line: str, zone: tzinfo, since: datetime, added: list[datetime], excluded: Excluded
) -> Iterator[datetime]:
    last = None
    for instant in merge(cron_instants(line, zone, since), added[bisect_left(added, since) :]):
        if instant != last and not excluded.names(Placed(instant, None)):
            last = instant
            yield instant
