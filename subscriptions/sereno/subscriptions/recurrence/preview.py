"""`schedule preview`: what a schedule means, as the times at which it fires."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import islice, takewhile
from typing import Any

from sereno.subscriptions.recurrence.calendar_series import by_uid, read_series
from sereno.subscriptions.recurrence.calendar_text import parse_calendar
from sereno.subscriptions.recurrence.cron import check_cron, cron_instants
from sereno.subscriptions.recurrence.declared import declared_series
from sereno.subscriptions.recurrence.local_time import Shaped, anchor, wall_clock
from sereno.subscriptions.recurrence.moment import at_midnight, digits, parse_moment
from sereno.subscriptions.recurrence.refusal import Refused
from sereno.subscriptions.recurrence.request import Request, read_request
from sereno.subscriptions.recurrence.rule_instants import Start
from sereno.subscriptions.recurrence.series import BEGINNING, END, Occurrence, Series, occurrences
from sereno.subscriptions.recurrence.zones import zone_named


@dataclass(frozen=True, slots=True)
class Firing:
    """One time at which a schedule fires: as it is written, on the clock of its zone, and what shaped it."""

    text: str
    local: str
    shaped: Shaped | None = None


def preview(fields: Mapping[str, Any]) -> tuple[Firing, ...]:
    """The times that the fields of one request ask for; Refused says what was expected, or why there are none."""
    request = read_request(fields)
    if request.cron is not None:
        return _of_cron(request)
    series = _series(request)
    start = series.start
    found = tuple(_firing(each, start) for each in _within(series, request))
    if not found and next(occurrences(series), None) is None:
        raise Refused(
            "never_fires", "the schedule never fires: nothing between its start and the year 9999 fits it"
        )
    return found


def _series(request: Request) -> Series:
    zone = zone_named(request.tzid) if request.tzid is not None else None
    if request.ics is None:
        if request.dtstart is None:
            raise Refused("bad_input", "dtstart: expected it, or cron, or ics")
        return declared_series(
            request.dtstart,
            zone,
            rules=request.rrule,
            rdates=request.rdate,
            exdates=request.exdate,
            policy=request.policy,
        )
    calendar = parse_calendar(request.ics)
    found = by_uid(calendar)
    if len(found) != 1:
        raise Refused("bad_input", f"ics: expected one series, not {len(found)}")
    uid, entries = found[0]
    return read_series(uid, entries, calendar, zone, request.policy).series


def _within(series: Series, request: Request) -> Iterator[Occurrence]:
    since = bound(request.after, "after", series.start) or BEGINNING
    until = bound(request.before, "before", series.start) or END
    return islice(takewhile(lambda each: each.instant < until, occurrences(series, since)), request.limit)


def bound(text: str | None, name: str, start: Start) -> datetime | None:
    """The end of a window as an instant; a time without a zone is on the clock of the series."""
    if text is None:
        return None
    moment = parse_moment(text, name)
    local = at_midnight(moment)
    if local.tzinfo is not None and not start.floating:
        return local.astimezone(UTC)
    try:
        return anchor(digits(moment), start.zone)
    except OverflowError:
        return END if local.year > 1 else BEGINNING


def _firing(each: Occurrence, start: Start) -> Firing:
    local = wall_clock(each.instant, start.zone)
    return Firing(written_instant(each.instant, start), local.isoformat(sep=" "), each.shaped)


def written_instant(instant: datetime, start: Start) -> str:
    """An instant as answers write it: `…Z`, or without a zone where the series has none."""
    if not start.floating:
        return instant.replace(tzinfo=None).isoformat() + "Z"
    return instant.date().isoformat() if start.whole_days else instant.replace(tzinfo=None).isoformat()


def _of_cron(request: Request) -> tuple[Firing, ...]:
    line, zone = request.cron or "", zone_named(request.tzid or "")
    check_cron(line)
    start = Start(datetime(1970, 1, 1), zone)
    since, until = bound(request.after, "after", start), bound(request.before, "before", start) or END
    if since is None:
        raise Refused("bad_input", "after: expected the time from which a cron line is read")
    found = tuple(
        islice(takewhile(lambda each: each < until, cron_instants(line, zone, since)), request.limit)
    )
    if not found and next(cron_instants(line, zone, since), None) is None:
        raise Refused("never_fires", "the cron line does not fire within 50 years")
    return tuple(_cron_firing(each, zone, start) for each in found)


def _cron_firing(instant: datetime, zone: tzinfo, start: Start) -> Firing:
    return Firing(written_instant(instant, start), wall_clock(instant, zone).isoformat(sep=" "))
