"""What of a look can be read as calendars (pure)."""

from sereno.execution_plane.listeners.calendar.sources.look import Look, Resource, SourceAwayError
from sereno.subscriptions.recurrence.calendar_text import parse_calendar
from sereno.subscriptions.recurrence.refusal import Refused


def readable(look: Look) -> tuple[Look, tuple[str, ...]]:
    """The look without the texts that are no calendars, and a sentence about each of those.

    Of a text that was a calendar before, that stays in force. Where one text is all there is, raises `SourceAwayError`.
    """
    good: list[Resource] = []
    refused: list[str] = []
    for each in look.resources:
        try:
            parse_calendar(each.content)
        except Refused as fault:
            if look.is_whole:
                raise SourceAwayError(f"it cannot be read: {fault}") from None
            refused.append(f"{each.href[-80:]!r}: {fault}")
        else:
            good.append(each)
    return Look(look.cursor, good, look.gone, look.is_whole), tuple(refused)
