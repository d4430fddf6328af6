"""The fields of a preview request, each of the kind that is expected of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from sereno.subscriptions.recurrence.local_time import Gap, Overlap, Policy
from sereno.subscriptions.recurrence.refusal import Refused, shortened

DEFAULT_LIMIT = 100
MAX_LIMIT = 10_000
MAX_LISTED = 100_000
_TEXTS = ("dtstart", "tzid", "cron", "ics", "after", "before")
_LISTS = ("rrule", "rdate", "exdate")
_FIELDS = frozenset({*_TEXTS, *_LISTS, "gap", "overlap", "limit"})
_OF_A_RULE = ("dtstart", "rrule", "rdate", "exdate")


@dataclass(frozen=True, slots=True)
class Request:
    """What `schedule preview` is asked; exactly one of `dtstart`, `ics` and `cron` says the schedule."""

    policy: Policy
    limit: int
    dtstart: str | None = None
    tzid: str | None = None
    cron: str | None = None
    ics: str | None = None
    after: str | None = None
    before: str | None = None
    rrule: tuple[str, ...] = ()
    rdate: tuple[str, ...] = ()
    exdate: tuple[str, ...] = ()


def read_request(fields: Mapping[str, Any]) -> Request:
    """The request that these fields make; Refused("bad_input") names the field and what was expected."""
    given = known_fields(fields, _FIELDS)
    request = Request(
        policy=policy_of(given),
        limit=limit_of(given, DEFAULT_LIMIT),
        dtstart=text_of(given, "dtstart"),
        tzid=text_of(given, "tzid"),
        cron=text_of(given, "cron"),
        ics=text_of(given, "ics"),
        after=text_of(given, "after"),
        before=text_of(given, "before"),
        rrule=_list_of(given, "rrule"),
        rdate=_list_of(given, "rdate"),
        exdate=_list_of(given, "exdate"),
    )
    _check_together(request, given)
    return request


def known_fields(fields: Any, known: frozenset[str]) -> dict[str, Any]:
    """The fields that are not null; one that nobody reads is refused, but an `id` may stand beside them."""
    if not isinstance(fields, Mapping):
        raise Refused("bad_input", "expected a JSON object")
    for name in fields:
        if name not in known and name != "id":
            raise Refused(
                "bad_input", f"{shortened(name)}: unknown field: expected " + ", ".join(sorted(known))
            )
    return {name: value for name, value in fields.items() if value is not None}


def text_of(given: Mapping[str, Any], name: str) -> str | None:
    """A field that is text."""
    value = given.get(name)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise Refused("bad_input", f"{name}: expected text")
    return value


def _list_of(given: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = given.get(name, [])
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(each, str) and each.strip() for each in values):
        raise Refused("bad_input", f"{name}: expected text or a list of texts")
    if len(values) > MAX_LISTED:
        raise Refused("too_large", f"{name}: expected at most {MAX_LISTED} values")
    return tuple(values)


def policy_of(given: Mapping[str, Any]) -> Policy:
    """The `gap` and `overlap` of a request."""
    gap, overlap = given.get("gap", "shift"), given.get("overlap", "first")
    if gap not in get_args(Gap):
        raise Refused("bad_input", "gap: expected shift or skip")
    if overlap not in get_args(Overlap):
        raise Refused("bad_input", "overlap: expected first, second or both")
    return Policy(gap, overlap)


def limit_of(given: Mapping[str, Any], default: int) -> int:
    """How many answers are wanted."""
    limit = given.get("limit", default)
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MAX_LIMIT:
        raise Refused("bad_input", f"limit: expected a whole number from 1 to {MAX_LIMIT}")
    return limit


def _check_together(request: Request, given: Mapping[str, Any]) -> None:
    kind = "cron" if request.cron is not None else "ics" if request.ics is not None else None
    if kind is None:
        return
    others = ("ics", *_OF_A_RULE, "gap", "overlap") if kind == "cron" else _OF_A_RULE
    for name in others:
        if given.get(name) not in (None, [], ""):
            raise Refused("bad_input", f"{name}: expected no {name} beside {kind}")
    if kind == "cron" and request.tzid is None:
        raise Refused("bad_input", "tzid: expected the zone in which the cron line is read, such as UTC")
