"""The demonstration `support-queue`: a review each working day at nine, over a clock change and a morning without listeners."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from sereno.deploy.demo.clockwork import acked, agent_command, declare, strike
from sereno.deploy.demo.driven_listeners import Clock, driven_listeners
from sereno.deploy.demo.stage import Stage, expect

AGENT, SUBSCRIPTION = "support-triage", "queue-review"
WITHOUT = ("listeners",)
_ZONE = ZoneInfo("Europe/Madrid")
_NINE = time(9)
_SUNDAY, _WEEK = 6, 7


def play(stage: Stage) -> None:
    """Show every step; raises `UnexpectedError` at the first that differs."""
    friday = _friday_before_a_change(datetime.now(UTC).date())
    monday, tuesday, wednesday = (friday + timedelta(days=days) for days in (3, 4, 5))
    stage.title("Declare a review each working day at nine in Madrid")
    declare(stage, "support_queue.yaml", {"first": f"{friday:%Y-%m-%d}T09:00:00"})
    stage.show("sub", "preview", SUBSCRIPTION, "--count", "4")
    clock = Clock(_at(friday) - timedelta(hours=1))
    worker = stage.background("work", AGENT, "--max", "3", "--exec", agent_command())
    with driven_listeners(stage, clock), worker:
        strike(stage, clock, _at(friday), "nine in Madrid, the last working day before the clock changes")
        acked(stage, AGENT, 1)
        strike(stage, clock, _at(monday), "nine in Madrid again, at another time in UTC")
        acked(stage, AGENT, 2)
        strike(stage, clock, _at(wednesday) + timedelta(minutes=30), "nobody looked since Monday")
        late = acked(stage, AGENT, 3)
        expect(late["cause"], due_instant=f"{_at(wednesday):%Y-%m-%dT%H:%M:%SZ}")
    stage.title("What became of each instant?")
    checked = stage.json("schedule", "check")
    expect(checked, instants=4, ends={"fired": 2, "late": 1, "skipped": 1}, findings=[])
    ends = ", ".join(f"{count} {end}" for end, count in sorted(checked["ends"].items()))
    stage.screen.print(f"{checked['instants']} instants, all accounted for: {ends}", highlight=False)
    stage.screen.print(
        f"{tuesday:%A}'s review was skipped, since `misfire: latest` saves only the last that was missed.",
        highlight=False,
    )


def _at(day: date) -> datetime:
    return datetime.combine(day, _NINE, _ZONE).astimezone(UTC)


def _friday_before_a_change(today: date) -> date:
    """The Friday before the next Sunday, from next week on, whose offset is another than a week before."""
    sunday = today + timedelta(days=_SUNDAY - today.weekday() + _WEEK)
    while _offset(sunday) == _offset(sunday - timedelta(days=_WEEK)):
        sunday += timedelta(days=_WEEK)
    return sunday - timedelta(days=2)


def _offset(day: date) -> timedelta | None:
    return datetime.combine(day, _NINE, _ZONE).utcoffset()
