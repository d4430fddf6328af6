"""Cron lines by cronsim's reading, behind the one module that uses it.

Fixed times in a gap fire when the clock changes, wildcard times follow real time, an overlap fires once. Day of
month and day of week are joined by OR unless one of them starts with `*`.
"""

from collections.abc import Container, Iterator
from datetime import UTC, datetime, timedelta, tzinfo

from cronsim import CronSim, CronSimError

from sereno.subscriptions.recurrence.local_time import Shaped
from sereno.subscriptions.recurrence.refusal import Refused, shortened

MAX_LENGTH = 300
_SECOND = timedelta(seconds=1)
_FIELDS = "expected five fields (minute, hour, day of month, month, day of week) such as 30 9 * * 1-5"
_FAULTS = (CronSimError, ValueError, TypeError, AssertionError, IndexError, OverflowError)


def check_cron(line: str) -> None:
    """Refused when the line is none that cronsim reads."""
    _simulation(line, datetime(2026, 1, 1, tzinfo=UTC))


def cron_instants(line: str, zone: tzinfo, since: datetime) -> Iterator[datetime]:
    """Ascending instants (UTC) at or after `since`, lazily; ends where cronsim finds nothing for 50 years."""
    # cronsim answers what comes after its beginning.
    begin = since.replace(microsecond=0) - (timedelta() if since.microsecond else _SECOND)
    last = since - timedelta.resolution
    try:
        for local in _simulation(line, begin.astimezone(zone)):
            instant = local.astimezone(UTC)
            # A fixed time that the clock shows twice was due the first time.
            if instant > last:
                last = instant
                yield instant
    except OverflowError:
        return


def cron_shaped(
    line: str, zone: tzinfo, instants: Iterator[datetime], added: Container[datetime] = ()
) -> Iterator[tuple[datetime, Shaped | None]]:
    """The instants, each with whether a change of the clock shaped it; those that were added are as written."""
    simulation = _simulation(line, datetime(2026, 1, 1, tzinfo=UTC))
    for instant in instants:
        local = instant.astimezone(zone)
        if local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset():
            yield instant, "overlap"
        elif instant not in added and (
            local.minute not in simulation.minutes or local.hour not in simulation.hours
        ):
            yield instant, "gap"
        else:
            yield instant, None


def _simulation(line: str, begin: datetime) -> CronSim:
    if len(line) > MAX_LENGTH:
        raise Refused("too_large", f"cron: {len(line)} characters: expected at most {MAX_LENGTH}")
    try:
        return CronSim(line, begin)
    except _FAULTS as fault:
        said = str(fault) if isinstance(fault, CronSimError) else "it cannot be read"
        raise Refused("bad_rule", f"cron {shortened(line)!r}: {said}: {_FIELDS}") from None
