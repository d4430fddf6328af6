"""Which parts of a rule may stand together (RFC 5545 3.3.10)."""

from collections.abc import Iterator

from sereno.subscriptions.recurrence.refusal import Refused
from sereno.subscriptions.recurrence.rule import Frequency, Rule


def check(rule: Rule) -> None:
    """Refused("bad_rule" or "unsupported_rule") at the first part that may not stand beside the others."""
    for refusal in _objections(rule):
        raise refusal


def _objections(rule: Rule) -> Iterator[Refused]:
    frequency = rule.frequency
    if rule.count is not None and rule.until is not None:
        yield _refuse("COUNT and UNTIL are both given: expected at most one of them")
    if rule.by_week_number and frequency is not Frequency.YEARLY:
        yield _refuse(f"BYWEEKNO with FREQ={frequency.name}: expected it only with FREQ=YEARLY")
    if rule.by_year_day and frequency in (Frequency.DAILY, Frequency.WEEKLY, Frequency.MONTHLY):
        yield _refuse(f"BYYEARDAY with FREQ={frequency.name}: expected YEARLY, HOURLY, MINUTELY or SECONDLY")
    if rule.by_month_day and frequency is Frequency.WEEKLY:
        yield _refuse("BYMONTHDAY with FREQ=WEEKLY: expected another frequency")
    yield from _weekday_objections(rule)
    yield from _position_objections(rule)
    if rule.skip != "OMIT" and rule.by_year_day and (rule.by_month or rule.by_month_day):
        yield Refused(
            "unsupported_rule",
            f"SKIP={rule.skip} with BYYEARDAY beside BYMONTH or BYMONTHDAY has no agreed meaning",
        )
    if rule.skip != "OMIT" and rule.by_week_number:
        yield Refused("unsupported_rule", f"SKIP={rule.skip} with BYWEEKNO has no agreed meaning")


def _weekday_objections(rule: Rule) -> Iterator[Refused]:
    if not any(day.ordinal for day in rule.by_day):
        return
    if rule.frequency not in (Frequency.MONTHLY, Frequency.YEARLY):
        yield _refuse(
            f"BYDAY with a number and FREQ={rule.frequency.name}: expected a number only with MONTHLY or YEARLY"
        )
    if rule.by_week_number:
        yield _refuse("BYDAY with a number beside BYWEEKNO: expected weekdays without a number")


def _position_objections(rule: Rule) -> Iterator[Refused]:
    others = (
        rule.by_second,
        rule.by_minute,
        rule.by_hour,
        rule.by_day,
        rule.by_month_day,
        rule.by_year_day,
        rule.by_week_number,
        rule.by_month,
    )
    if rule.by_position and not any(others):
        yield _refuse("BYSETPOS alone: expected another BY part to choose from")


def _refuse(message: str) -> Refused:
    return Refused("bad_rule", message)
