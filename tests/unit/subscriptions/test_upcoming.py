"""When a subscription fires next, and why not."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.models import SubscriptionSpec
from sereno.subscriptions.upcoming import upcoming

NOON = datetime(2026, 3, 6, 12, tzinfo=UTC)


def spec(source: dict[str, Any], **more: Any) -> SubscriptionSpec:
    written = {
        "owner": "user:marta",
        "agent": "agent:triage",
        "instruction": "Look.",
        "source": source,
        **more,
    }
    return SubscriptionSpec.model_validate(written)


def rule(**fields: str) -> dict[str, Any]:
    return {"time": {"dtstart": "2026-03-01T02:30", "zone": "America/New_York", **fields}}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            rule(rrule="FREQ=DAILY"),
            [("03-07 07:30", "02:30-0500", None), ("03-08 07:30", "03:30-0400", "gap: shift"),
             ("03-09 06:30", "02:30-0400", None)],
        ),
        (
            rule(rrule="FREQ=DAILY", gap="skip"),
            [("03-07 07:30", "02:30-0500", None), ("03-09 06:30", "02:30-0400", None),
             ("03-10 06:30", "02:30-0400", None)],
        ),
        (
            {"time": {"cron": "30 2 * * *", "zone": "America/New_York", "rdates": ["2026-03-09T12:00"]}},
            [("03-07 07:30", "02:30-0500", None),
             ("03-08 07:00", "03:00-0400", "cron: in the gap, when the clock changes"),
             ("03-09 06:30", "02:30-0400", None), ("03-09 16:00", "12:00-0400", None)],
        ),
        ({"time": {"at": "2026-03-07T00:00:00Z"}}, [("03-07 00:00", "00:00+0000", None)]),
        ({"time": {"every": "36h", "start": "2026-03-06T12:00:00Z"}},
         [("03-06 12:00", "12:00+0000", None), ("03-08 00:00", "00:00+0000", None)]),
    ],
    ids=["shift", "skip", "cron", "at", "every"],
)  # fmt: skip
def test_each_time_comes_with_the_clock_of_its_zone_and_what_shaped_it(
    source: dict[str, Any], expected: list[tuple[str, str, str | None]]
) -> None:
    found = upcoming(spec(source), State.ACTIVE, NOON, len(expected))
    assert [(f"{t.instant:%m-%d %H:%M}", f"{t.local:%H:%M%z}", t.policy) for t in found.times] == expected
    assert found.note is None


def test_an_overlap_says_which_of_the_two_it_is() -> None:
    autumn = {"dtstart": "2026-10-31T01:30", "rrule": "FREQ=DAILY"}
    begin = datetime(2026, 11, 1, tzinfo=UTC)
    for overlap, hours in (("first", [5]), ("second", [6]), ("both", [5, 6])):
        (*found,) = upcoming(spec(rule(**autumn, overlap=overlap)), State.ACTIVE, begin, len(hours)).times
        assert [each.instant.hour for each in found] == hours
        assert {each.policy for each in found} == {f"overlap: {overlap}"}


@pytest.mark.parametrize(
    ("source", "state", "more", "note", "count"),
    [
        ({"webhook": {"endpoint": "hub"}}, State.ACTIVE, {}, "not computable: it waits for", 0),
        ({"calendar": {"file": "/team.ics"}}, State.ACTIVE, {}, "not computable: only the listeners", 0),
        (rule(rrule="FREQ=DAILY"), State.DELETED, {}, "nothing fires: it is deleted", 0),
        (rule(rrule="FREQ=DAILY"), State.PAUSED, {}, "it is paused", 3),
        (rule(rrule="FREQ=DAILY"), State.PENDING_APPROVAL, {}, "it is pending_approval", 3),
        (rule(rrule="FREQ=DAILY;COUNT=2"), State.ACTIVE, {}, "no time is to come any more", 0),
        ({"time": {"at": "2026-03-06T11:00:00Z"}}, State.ACTIVE, {}, "no time is to come any more", 0),
        (
            rule(rrule="FREQ=DAILY"),
            State.ACTIVE,
            {"limits": {"expires": "2026-03-08T00:00:00Z"}},
            "it expires at 2026-03-08T00:00:00Z",
            1,
        ),
        ({"time": {"cron": "61 * * * *", "zone": "UTC"}}, State.ACTIVE, {}, "not computable: cron", 0),
    ],
)
def test_why_there_is_nothing_or_no_more(
    source: dict[str, Any], state: State, more: dict[str, Any], note: str, count: int
) -> None:
    found = upcoming(spec(source, **more), state, NOON, 3)
    assert found.note is not None
    assert found.note.startswith(note)
    assert len(found.times) == count
