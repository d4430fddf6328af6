"""Calendar files in declarations: their text stands where their name was, and every line keeps its number."""

import pytest

from sereno.subscriptions.documents import parse
from sereno.subscriptions.faults import Faults
from sereno.subscriptions.inlining import inline_calendars
from sereno.subscriptions.models import SubscriptionSpec

CALENDAR = (
    'BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:a\nSUMMARY:"caf\u00e9\\ \u2603 \U0001f600\u2028\x85\n'
    "DTSTART;TZID=Europe/Madrid:20261201T090000\nRRULE:FREQ=DAILY\nEND:VEVENT\nEND:VCALENDAR\n"
)
DOCUMENT = """apiVersion: sereno/v1
kind: Subscription
metadata: {name: NAME}   # caf\u00e9 \U0001f600
spec:
  owner: user:marta
  agent: agent:triage
  instruction: Hold the stand-up.
  source:
    time: TIME
  mystery: 1
"""


def document(name: str, time: str) -> str:
    return DOCUMENT.replace("NAME", name).replace("TIME", time)


def calendars_of(text: str) -> list[str | None]:
    read = parse(text.replace("  mystery: 1\n", ""))
    assert not isinstance(read, Faults), list(read)
    specs = [one.spec for one in read if isinstance(one.spec, SubscriptionSpec)]
    return [spec.source.time.ics for spec in specs if spec.source.time is not None]


@pytest.mark.parametrize("name", ["standup.ics", "'standup.ics'", '"standup.ics"'])
def test_a_calendar_stands_where_its_file_was_named(name: str) -> None:
    text = (
        document("first", f"{{ics: {name}, gap: skip}}")
        + "---\n"
        + document("second", f"\n      ics: {name}")
    )
    asked: list[str] = []
    inlined = inline_calendars(text, lambda file: asked.append(file) or CALENDAR)  # type: ignore[func-returns-value]
    assert asked == ["standup.ics"] * 2
    assert calendars_of(inlined) == [CALENDAR, CALENDAR]


def test_a_fault_behind_a_calendar_keeps_its_line() -> None:
    text = document("first", "{ics: standup.ics}")
    before, after = parse(text), parse(inline_calendars(text, lambda _: CALENDAR))
    assert isinstance(before, Faults)
    assert isinstance(after, Faults)
    (fault,) = after
    assert (fault.path, fault.line) == ("documents[0].spec.mystery", 10)
    assert fault in list(before)


@pytest.mark.parametrize(
    "text",
    [
        document("a", "{every: 1h}"),
        document("a", '{ics: "BEGIN:VCALENDAR"}'),
        document("a", "{ics: [standup.ics]}"),
        "spec: {ics: elsewhere.ics}",
        "ics: [broken",
        "",
    ],
)
def test_what_names_no_calendar_stays_as_it_is(text: str) -> None:
    assert inline_calendars(text, lambda _: CALENDAR) == text


def test_a_name_that_reaches_the_catalog_is_refused() -> None:
    read = parse(document("a", "{ics: standup.ics}").replace("  mystery: 1\n", ""))
    assert isinstance(read, Faults)
    (fault,) = read
    assert fault.path == "documents[0].spec.source.time.ics"
    assert "expected iCalendar text" in fault.message
