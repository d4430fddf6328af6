"""`sereno schedule preview` and `sereno calendar preview`: one JSON object a line, or flags and a table."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from sereno.deploy.main import build
from sereno.execution_plane.preview import lines
from sereno.execution_plane.preview.calendar_preview import answer as answer_calendar
from sereno.execution_plane.preview.lines import answer_line, answer_lines
from sereno.execution_plane.preview.schedule_preview import answer as answer_schedule

RULE = {"dtstart": "2026-03-07T02:30", "tzid": "America/New_York", "rrule": "FREQ=DAILY"}
ICS = """BEGIN:VCALENDAR
BEGIN:VEVENT
UID:standup
DTSTART;TZID=Europe/Madrid:20260601T064000
DTEND;TZID=Europe/Madrid:20260601T070000
RRULE:FREQ=DAILY;COUNT=3
END:VEVENT
BEGIN:VEVENT
UID:standup
RECURRENCE-ID;TZID=Europe/Madrid:20260602T064000
DTSTART;TZID=Europe/Madrid:20260602T080000
END:VEVENT
BEGIN:VEVENT
UID:once
DTSTART;VALUE=DATE:20260602
END:VEVENT
END:VCALENDAR
"""


def schedule(**fields: Any) -> dict[str, Any]:
    return answer_line(json.dumps(fields).encode(), answer_schedule)


def calendar(**fields: Any) -> dict[str, Any]:
    return answer_line(json.dumps(fields).encode(), answer_calendar)


def run(*arguments: str, given: str | None = None) -> tuple[int, str]:
    app = build()
    result = CliRunner().invoke(app, list(arguments), input=given)
    return result.exit_code, result.output


def test_each_line_is_answered_in_order_and_at_once() -> None:
    asked = [
        json.dumps({**RULE, "limit": 1}),
        "no json",
        "",
        "[1]",
        '"text"',
        json.dumps({**RULE, "limit": 2}),
    ]
    code, said = run("schedule", "preview", "--json", given="\n".join(asked) + "\n")
    answers = [json.loads(line) for line in said.splitlines()]
    assert code == 0
    assert answers[0] == {"instants": ["2026-03-07T07:30:00Z"]}
    assert [each["error"]["code"] for each in answers[1:5]] == ["bad_input"] * 4
    assert answers[5] == {"instants": ["2026-03-07T07:30:00Z", "2026-03-08T07:30:00Z"]}


def test_each_answer_is_flushed_before_the_next_line_is_read() -> None:
    heard: list[int] = []

    class Asking(BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            heard.append(answers.flushed)
            return super().readline(size)

    class Answers(BytesIO):
        flushed = 0

        def flush(self) -> None:
            self.flushed += 1

    answers = Answers()
    answer_lines(Asking(b"{}\n{}\n{}"), answers, answer_schedule)
    assert heard == [0, 1, 2, 3]


def test_a_line_that_is_too_long_is_refused_and_the_next_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 200)
    answers = BytesIO()
    answer_lines(
        BytesIO(b"x" * 1000 + b"\n" + json.dumps({**RULE, "limit": 1}).encode()), answers, answer_schedule
    )
    first, second = map(json.loads, answers.getvalue().splitlines())
    assert first["error"]["code"] == "bad_input"
    assert second["instants"] == ["2026-03-07T07:30:00Z"]


@given(
    st.one_of(
        st.binary(max_size=200),
        st.dictionaries(
            st.sampled_from(
                ("dtstart", "tzid", "rrule", "rdate", "gap", "after", "limit", "cron", "ics", "other")
            ),
            st.one_of(
                st.none(), st.text(max_size=20), st.integers(), st.lists(st.text(max_size=5), max_size=2)
            ),
        ).map(lambda fields: json.dumps(fields).encode()),
    )
)
def test_any_line_has_an_answer(line: bytes) -> None:
    for answer in (answer_schedule, answer_calendar):
        found = answer_line(line, answer)
        assert "error" not in found or found["error"]["code"] != "fault"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "dtstart: expected it, or cron, or ics"),
        ({**RULE, "dtstart": "yesterday"}, "dtstart: expected a time"),
        ({**RULE, "dtstart": 5}, "dtstart: expected text"),
        ({**RULE, "dtstart": "2026-03-07T02:30:00Z"}, "dtstart: expected a local time"),
        ({**RULE, "tzid": None, "dtstart": "2026-03-07T02:30:00-05:00"}, "expected tzid too"),
        ({**RULE, "rrule": 5}, "rrule: expected text or a list of texts"),
        ({**RULE, "rrules": "x"}, "rrules: unknown field"),
        ({**RULE, "gap": "jump"}, "gap: expected shift or skip"),
        ({**RULE, "overlap": "third"}, "overlap: expected first, second or both"),
        ({**RULE, "limit": 0}, "limit: expected a whole number from 1 to 10000"),
        ({**RULE, "limit": 10_001}, "limit: expected a whole number from 1 to 10000"),
        ({**RULE, "limit": True}, "limit: expected"),
        ({**RULE, "after": "2026"}, "after: expected a time"),
        ({**RULE, "cron": "0 9 * * *"}, "dtstart: expected no dtstart beside cron"),
        (
            {"cron": "0 9 * * *", "tzid": "UTC", "after": "2026-01-01", "gap": "skip"},
            "gap: expected no gap beside cron",
        ),
        ({"cron": "0 9 * * *", "after": "2026-01-01"}, "tzid: expected the zone"),
        ({"cron": "0 9 * * *", "tzid": "UTC"}, "after: expected the time"),
        ({"ics": ICS}, "ics: expected one series, not 2"),
        ({"ics": ICS, "rrule": "FREQ=DAILY"}, "rrule: expected no rrule beside ics"),
    ],
)
def test_a_field_that_is_wrong_is_named(fields: dict[str, Any], said: str) -> None:
    error = schedule(**fields)["error"]
    assert error["code"] == "bad_input"
    assert said in error["message"]


@pytest.mark.req(50)
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({**RULE, "tzid": "Mars/Olympus"}, "unknown_zone"),
        ({**RULE, "rrule": "FREQ=DAILY;INTERVAL=0"}, "bad_rule"),
        ({**RULE, "rrule": "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"}, "never_fires"),
        ({**RULE, "rrule": "FREQ=DAILY;UNTIL=20200101"}, "never_fires"),
        ({**RULE, "rrule": "RSCALE=HEBREW;FREQ=YEARLY"}, "unsupported_rule"),
        ({"cron": "0 0 29 2 MON#4", "tzid": "UTC", "after": "2026-01-01", "before": "2026-01-02"}, None),
    ],
)
def test_a_schedule_that_is_refused_says_which_kind_of_refusal_it_is(
    fields: dict[str, Any], code: str | None
) -> None:
    assert schedule(**fields).get("error", {}).get("code") == code


def test_the_window_includes_its_beginning_and_not_its_end() -> None:
    window = {"after": "2026-03-08T07:30:00Z", "before": "2026-03-10T06:30:00Z"}
    assert schedule(**RULE, **window) == {"instants": ["2026-03-08T07:30:00Z", "2026-03-09T06:30:00Z"]}
    local = {"after": "20260308T033000", "before": "20260310"}
    assert schedule(**RULE, **local) == {"instants": ["2026-03-08T07:30:00Z", "2026-03-09T06:30:00Z"]}
    assert schedule(**RULE, after="2020-01-01", before="2021-01-01") == {"instants": []}
    line = {
        "cron": "30 2 * * *",
        "tzid": "UTC",
        "after": "2026-03-08T02:30:00Z",
        "before": "2026-03-10T02:30:00Z",
    }
    assert schedule(**line) == {"instants": ["2026-03-08T02:30:00Z", "2026-03-09T02:30:00Z"]}


def test_a_hundred_are_shown_unless_asked_otherwise() -> None:
    assert len(schedule(**RULE)["instants"]) == 100
    assert len(schedule(**RULE, limit=10_000)["instants"]) == 10_000


def test_floating_times_and_days_have_no_zone_unless_one_is_given() -> None:
    times = {"dtstart": "2026-03-08T09:00", "rrule": ["FREQ=DAILY"], "limit": 1}
    days = {"dtstart": "20260308", "rrule": ["FREQ=DAILY"], "limit": 1}
    assert schedule(**times) == {"instants": ["2026-03-08T09:00:00"]}
    assert schedule(**days) == {"instants": ["2026-03-08"]}
    assert schedule(**times, tzid="Europe/Madrid") == {"instants": ["2026-03-08T08:00:00Z"]}
    assert schedule(**days, tzid="Europe/Madrid") == {"instants": ["2026-03-07T23:00:00Z"]}


@pytest.mark.req(53, 54)
def test_a_calendar_is_previewed_with_the_occurrence_that_moved() -> None:
    found = calendar(
        ics=ICS, offset="-10m", anchor="start", after="2026-06-02", before="2026-06-03T04:30:00Z"
    )
    assert found == {
        "fires": [
            {
                "uid": "standup",
                "recurrence_id": "2026-06-02T04:40:00Z",
                "start": "2026-06-02T06:00:00Z",
                "fire": "2026-06-02T05:50:00Z",
            },
        ]
    }
    ends = calendar(ics=ICS, offset="PT5M", anchor="end", before="2026-06-02", tzid="Europe/Madrid")
    assert [each["fire"] for each in ends["fires"]] == ["2026-06-01T05:05:00Z"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "ics: expected iCalendar text"),
        ({"ics": ICS, "anchor": "middle"}, "anchor: expected start, end or due"),
        ({"ics": ICS, "offset": "soon"}, "offset: expected a duration"),
        ({"ics": ICS, "offset": "Px"}, "offset: expected a duration"),
        ({"ics": ICS, "offset": 5}, "offset: expected text"),
    ],
)
def test_a_field_of_a_calendar_preview_that_is_wrong_is_named(fields: dict[str, Any], said: str) -> None:
    error = calendar(**fields)["error"]
    assert error["code"] == "bad_input"
    assert said in error["message"]


def test_people_see_the_clock_of_the_zone_and_what_shaped_a_time() -> None:
    flags = ("--rrule", "FREQ=DAILY", "--dtstart", "2026-03-07T02:30", "--zone", "America/New_York")
    code, said = run("schedule", "preview", *flags, "--after", "2026-03-08", "--count", "2")
    assert code == 0
    assert "2026-03-08 03:30:00" in said
    assert "2026-03-08T07:30:00Z" in said
    assert "the clock skips" in said
    code, said = run("schedule", "preview", *flags, "--after", "2026-03-08", "--count", "1", "--json")
    assert json.loads(said) == {"instants": ["2026-03-08T07:30:00Z"]}


def test_people_preview_a_calendar_file(tmp_path: Path) -> None:
    file = tmp_path / "team.ics"
    file.write_text(ICS, encoding="utf-8")
    code, said = run("calendar", "preview", "--ics", str(file), "--offset", "-10m", "--after", "2026-06-01")
    assert code == 0
    assert "2026-06-02T05:50:00Z" in said
    code, said = run("calendar", "preview", "--json", given=json.dumps({"ics": ICS}) + "\n")
    assert code == 0
    assert len(json.loads(said)["fires"]) == 4
