"""The kinds of value that fields of declared objects hold."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    StrictInt,
    StrictStr,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from sereno.subscriptions.duration import format_duration, parse_duration
from sereno.subscriptions.rate import Money, MoneyRate, Rate, parse_money, parse_money_rate, parse_rate
from sereno.subscriptions.recurrence.iana import iana

T = TypeVar("T")

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_PRINCIPAL = re.compile(r"(user|team|service|agent):[A-Za-z0-9][A-Za-z0-9._@+-]{0,126}")
_SECRET = re.compile(
    r"env:[A-Za-z_][A-Za-z0-9_]{0,127}|file:/[^\x00-\x1f]{1,1023}|sealed:[0-9a-f]{16}:[A-Za-z0-9_-]{1,4096}"
)
_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]{0,254}")
_ATTRIBUTE = re.compile(r"[a-z][a-z0-9]{0,19}")
_BODY_PATH = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]{0,63}(?:\.[A-Za-z_$][A-Za-z0-9_$-]{0,63}){0,8}")
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
_SIZE = re.compile(r"([0-9]{1,9}) ?(B|KiB|MiB|kB|MB)")
_SIZES = {"B": 1, "KiB": 1024, "MiB": 1024**2, "kB": 1000, "MB": 1000**2}


@dataclass(frozen=True, slots=True)
class matching:  # noqa: N801 - reads as a predicate where a type is annotated
    """Text that a pattern matches whole; the published schema says the pattern, people are told the expectation."""

    pattern: re.Pattern[str]
    expected: str

    def check(self, text: str) -> str:
        if self.pattern.fullmatch(text) is None:
            raise ValueError(f"expected {self.expected}")
        return text

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(schema), "pattern": f"^(?:{self.pattern.pattern})$"}


def _read(kind: type[T], parse: Callable[[str], T], expected: str) -> BeforeValidator:
    """Accepts the value itself or its text; anything else is refused with what was expected."""

    def read(value: Any) -> T:
        if isinstance(value, kind):
            return value
        if isinstance(value, str):
            return parse(value)
        raise ValueError(f"expected {expected}")

    return BeforeValidator(read)


def parse_instant(text: str) -> datetime:
    """The UTC instant that an ISO 8601 text with zone names; ValueError says what was expected."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("expected an instant such as 2027-01-01T00:00:00Z") from None
    return check_instant(instant)


def check_instant(instant: datetime) -> datetime:
    """The same instant in UTC; ValueError when it says no zone."""
    if instant.tzinfo is None:
        raise ValueError("expected a zone: end it with Z for UTC, or with an offset such as +02:00")
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise ValueError("expected an instant between the years 1 and 9999") from None


def format_instant(instant: datetime) -> str:
    """RFC 3339 in UTC, with Z, and only as many digits of a second as there are."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _check_zone(name: str) -> str:
    if iana(name) is None:
        raise ValueError("expected an IANA time zone such as Europe/Madrid, or UTC")
    return name


def _check_positive(length: timedelta) -> timedelta:
    if length <= timedelta():
        raise ValueError("expected a duration longer than zero")
    return length


def _parse_clock(text: str) -> time:
    if _CLOCK.fullmatch(text) is None:
        raise ValueError('expected a time of day such as "22:00"')
    return time.fromisoformat(text)


def _parse_size(value: Any) -> Any:
    if isinstance(value, str):
        matched = _SIZE.fullmatch(value)
        if matched is None:
            raise ValueError("expected bytes as a number, or a size such as 64KiB")
        return int(matched[1]) * _SIZES[matched[2]]
    return value


def _check_not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("expected some text")
    return text


Text = Annotated[StrictStr, AfterValidator(_check_not_blank)]
ShortText = Annotated[Text, Field(max_length=256)]
LongText = Annotated[Text, Field(max_length=16_384)]
Name = Annotated[
    StrictStr,
    matching(_NAME, "a name of 1 to 63 lower-case letters, digits and hyphens, such as refund-watch"),
]
Principal = Annotated[StrictStr, matching(_PRINCIPAL, "a principal such as user:marta or team:support")]
AgentReference = Annotated[
    StrictStr, matching(re.compile(r"agent:" + _NAME.pattern), "an agent such as agent:support-triage")
]
# The message never repeats the value: a literal secret must not reach a terminal or a log.
SecretReference = Annotated[
    StrictStr,
    matching(
        _SECRET,
        "a reference to a secret, env:NAME or file:/absolute/path (a secret itself is not kept here)",
    ),
]
EventType = Annotated[
    StrictStr, matching(_TYPE, "an event type such as sereno.platform.subscription.changed, no wildcards")
]
Attribute = Annotated[
    StrictStr, matching(_ATTRIBUTE, "a CloudEvents attribute name: lower-case letters and digits")
]
KeyExpression = Annotated[StrictStr, Field(min_length=1, max_length=1000)]
Zone = Annotated[StrictStr, AfterValidator(_check_zone)]
Size = Annotated[StrictInt, BeforeValidator(_parse_size, json_schema_input_type=int | str)]
Instant = Annotated[
    datetime,
    _read(datetime, parse_instant, "an instant such as 2027-01-01T00:00:00Z"),
    AfterValidator(check_instant),
    PlainSerializer(format_instant, return_type=str, when_used="json"),
]
SignedDuration = Annotated[
    timedelta,
    _read(timedelta, parse_duration, "a duration with its unit, such as 10m"),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "examples": ["10m", "1h30m"]}),
]
Duration = Annotated[SignedDuration, AfterValidator(_check_positive)]
ClockTime = Annotated[
    time,
    _read(time, _parse_clock, 'a quoted time of day such as "22:00"'),
    PlainSerializer(lambda moment: moment.strftime("%H:%M"), return_type=str, when_used="json"),
]
ActivationRate = Annotated[
    Rate,
    _read(Rate, parse_rate, "a rate such as 100/day"),
    PlainSerializer(str, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "examples": ["100/day"]}),
]
Amount = Annotated[
    Money,
    _read(Money, parse_money, "an amount such as 0.30 EUR"),
    PlainSerializer(str, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "examples": ["0.30 EUR"]}),
]
AmountRate = Annotated[
    MoneyRate,
    _read(MoneyRate, parse_money_rate, "an amount per period such as 5.00 EUR/day"),
    PlainSerializer(str, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "examples": ["5.00 EUR/day"]}),
]
BodyPath = Annotated[
    StrictStr, matching(_BODY_PATH, "a path into the body such as issue.title, without a leading body.")
]
