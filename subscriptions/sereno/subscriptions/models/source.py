"""Where the events of a subscription come from: exactly one source."""

from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, AnyUrl, Field, StrictInt, StrictStr

from sereno.subscriptions.models.declared import Declared
from sereno.subscriptions.models.types import (
    AgentReference,
    BodyPath,
    Duration,
    EventType,
    Instant,
    Name,
    SecretReference,
    ShortText,
    SignedDuration,
    Text,
    Zone,
)

Expression = Annotated[StrictStr, Field(min_length=1, max_length=1000)]
LocalTime = Annotated[StrictStr, Field(min_length=8, max_length=35)]
# With iCalendar parameters before it: `TZID=America/Argentina/Buenos_Aires:20260302T150000`.
# It travels whole in the signed snapshot of its subscription.
Calendar = Annotated[Text, Field(max_length=300_000)]
ListedTime = Annotated[StrictStr, Field(min_length=8, max_length=160)]


class WebhookSource(Declared):
    """What arrives at a declared endpoint."""

    endpoint: Name


class TimeSource(Declared):
    """Instants: one, every so often, or by a rule. Without `start`, `every` counts from 1970-01-01T00:00:00Z."""

    exactly_one: ClassVar = ("at", "every", "rrule", "cron", "ics")
    needs: ClassVar = {"rrule": ("dtstart", "zone"), "cron": ("zone",)}
    refuses: ClassVar = {
        "at": ("start", "dtstart", "zone", "exdates", "rdates", "gap", "overlap"),
        "every": ("dtstart", "zone", "exdates", "rdates", "gap", "overlap"),
        "cron": ("start", "dtstart", "gap", "overlap"),
        "rrule": ("start",),
        "ics": ("start", "dtstart"),
    }

    at: Instant | None = None
    every: Duration | None = None
    start: Instant | None = None
    rrule: Text | None = None
    dtstart: LocalTime | None = None
    cron: Text | None = None
    ics: Calendar | None = None
    zone: Zone | None = None
    exdates: Annotated[tuple[ListedTime, ...], Field(max_length=10_000)] = ()
    rdates: Annotated[tuple[ListedTime, ...], Field(max_length=10_000)] = ()
    gap: Literal["shift", "skip"] | None = None
    overlap: Literal["first", "second", "both"] | None = None


class CalendarSelect(Declared):
    """Which entries of a calendar count."""

    uid: ShortText | None = None
    category: ShortText | None = None
    cel: Expression | None = None


class Credentials(Declared):
    """By what a calendar server knows who reads; the password stays where the execution plane runs."""

    username: ShortText
    password: SecretReference


class ObjectDate(Declared):
    """A date that a declared object carries, such as when a subscription expires."""

    kind: Literal["Subscription"] = "Subscription"
    name: Name
    date: Literal["expires"] = "expires"


def _check_absolute(text: str) -> str:
    if not text.startswith("/"):
        raise ValueError("expected an absolute path on the machine where the listeners run")
    return text


def _check_calendar_url(url: AnyUrl) -> AnyUrl:
    if url.scheme not in ("https", "http", "webcal") or not url.host:
        raise ValueError("expected a URL such as https://calendar.example/team.ics")
    if url.username or url.password:
        raise ValueError("expected a URL without a user or password in it: credentials name them")
    return url


CalendarUrl = Annotated[AnyUrl, AfterValidator(_check_calendar_url), Field(max_length=2_000)]
# How often a calendar is looked at; its wake-ups are in the index well before.
PollInterval = Annotated[Duration, Field(ge=timedelta(seconds=1), le=timedelta(days=7))]
LookInterval = Annotated[Duration, Field(ge=timedelta(seconds=1), le=timedelta(hours=12))]


class CalendarSource(Declared):
    """Entries of a calendar, or a date of the platform's own, each at its start, end or due time plus an offset."""

    exactly_one: ClassVar = ("file", "url", "caldav", "object")
    refuses: ClassVar = {
        "object": ("select", "zone", "gap", "overlap", "credentials"),
        "file": ("credentials",),
    }

    file: Annotated[Text, AfterValidator(_check_absolute), Field(max_length=4_000)] | None = None
    url: CalendarUrl | None = None
    caldav: CalendarUrl | None = None
    object: ObjectDate | None = None
    select: CalendarSelect | None = None
    anchor: Literal["start", "end", "due"] = "start"
    offset: SignedDuration | None = None
    zone: Zone | None = None
    gap: Literal["shift", "skip"] | None = None
    overlap: Literal["first", "second", "both"] | None = None
    every: LookInterval | None = None
    credentials: Credentials | None = None


class PlatformSource(Declared):
    """What the platform itself reports, such as the end of a run."""

    types: Annotated[tuple[EventType, ...], Field(min_length=1, max_length=64)]
    agent: AgentReference | None = None
    subscription: Name | None = None


class Backfill(Declared):
    """How many items that were there at the first look count as new."""

    backfill: Annotated[StrictInt, Field(ge=1, le=10_000)]


class McpCursor(Declared):
    """How far a source was read: the argument that says so to the tool, and where each item stands."""

    argument: ShortText
    value: Expression


class McpPages(Declared):
    """How the next page of an answer is asked for; `next` names none at the end."""

    argument: ShortText
    next: Expression
    most: Annotated[StrictInt, Field(ge=1, le=100)] = 10


class McpSource(Declared):
    """Items that an MCP tool answers, polled.

    `items` and `pages.next` read the answer: `result` (structured, or its text as JSON), `text`, `lines`, and `records`
    (lines of `Name: value`). `id`, `version`, `time` and `cursor.value` read `item`.
    """

    connector: Name
    tool: ShortText
    arguments: dict[str, Any] = Field(default_factory=dict)
    every: PollInterval
    items: Expression
    id: Expression
    version: Expression | None = None
    time: Expression | None = None
    project: Annotated[tuple[BodyPath, ...], Field(max_length=200)] = ()
    cursor: McpCursor | None = None
    pages: McpPages | None = None
    first: Literal["seed"] | Backfill = "seed"


class Source(Declared):
    """Exactly one place where events come from; it matches the envelope's `origin`."""

    exactly_one: ClassVar = ("webhook", "time", "calendar", "platform", "mcp")

    webhook: WebhookSource | None = None
    time: TimeSource | None = None
    calendar: CalendarSource | None = None
    platform: PlatformSource | None = None
    mcp: McpSource | None = None
