"""The demonstration `meeting-prep`: ten minutes before a meeting on a real CalDAV server that is moved, then cancelled."""

from datetime import UTC, datetime, timedelta

from sereno.deploy.demo.calendar_server import USER, CalendarServer, calendar_server
from sereno.deploy.demo.clockwork import acked, agent_command, declare, strike
from sereno.deploy.demo.driven_listeners import Clock, driven_listeners
from sereno.deploy.demo.stage import Stage, UnexpectedError, expect
from sereno.mailbox.cli.exits import CommandError

AGENT, SUBSCRIPTION = "chief-of-staff", "meeting-prep"
WITHOUT = ("listeners",)
_MINUTE, _HOUR = timedelta(minutes=1), timedelta(hours=1)


def play(stage: Stage) -> None:
    """Show every step; raises `UnexpectedError` at the first that differs."""
    with calendar_server(stage.folder / "calendar") as server:
        _play(stage, server)


def _play(stage: Stage, server: CalendarServer) -> None:
    morning = datetime.now(UTC).replace(hour=10, minute=0, second=0, microsecond=0) + timedelta(days=1)
    three, five, six = (morning + hours * _HOUR for hours in (5, 7, 8))
    stage.title("A calendar with a budget meeting at 15:00 and a talk at 18:00; declare who prepares them")
    _put(server, "budget", "Budget", three)
    _put(server, "talk", "Talk with Marta", six)
    values = {"url": server.url, "user": USER, "password_file": str(server.password_file)}
    declare(stage, "meeting_prep.yaml", values)
    clock = Clock(morning)
    worker = stage.background("work", AGENT, "--max", "1", "--exec", agent_command())
    with driven_listeners(stage, clock), worker:
        strike(stage, clock, morning, "the calendar was read")
        _wait(stage, budget=three, talk=six)

        _put(server, "budget", "Budget", five)
        strike(stage, clock, morning + 2 * _MINUTE, "the budget meeting was moved to 17:00")
        _wait(stage, budget=five, talk=six)

        server.delete("talk")
        strike(stage, clock, morning + 4 * _MINUTE, "the talk was cancelled")
        _wait(stage, budget=five)
        stage.show("notices")

        strike(stage, clock, three - 10 * _MINUTE, "ten minutes before the old time, nothing wakes")
        strike(stage, clock, five - 10 * _MINUTE, "ten minutes before the new time")
        woke = acked(stage, AGENT, 1)
        expect(woke["cause"], due_instant=f"{five - 10 * _MINUTE:%Y-%m-%dT%H:%M:%SZ}")
        strike(stage, clock, six, "the time of the talk is past, and nobody was woken for it")
        _ended(stage, ["anchor_moved", "anchor_removed", "delivered"])
    stage.title("What became of each wake-up?")
    stage.show("calendar", "preview", "--subscription", SUBSCRIPTION)


def _put(server: CalendarServer, uid: str, summary: str, start: datetime) -> None:
    lines = [
        *(
            "BEGIN:VCALENDAR",
            "VERSION:2.0",
            "PRODID:-//Sereno//demonstration//EN",
            "BEGIN:VEVENT",
            f"UID:{uid}",
        ),
        *(
            "DTSTAMP:20260101T000000Z",
            f"SUMMARY:{summary}",
            f"DTSTART:{start:%Y%m%dT%H%M%SZ}",
            "DURATION:PT1H",
        ),
        *("END:VEVENT", "END:VCALENDAR", ""),
    ]
    server.put(uid, "\r\n".join(lines))


def _wait(stage: Stage, **meetings: datetime) -> None:
    """Wait until exactly these meetings are to come, and show them."""
    wanted = {uid: f"{start:%Y-%m-%dT%H:%M:%SZ}" for uid, start in meetings.items()}

    def look() -> bool | None:
        pending = {one["uid"]: one["start"] for one in _instants(stage) if one["state"] == "pending"}
        return True if pending == wanted else None

    stage.until(look, f"the wake-ups for {', '.join(wanted)}")
    for one in _instants(stage):
        what = one["reason"] or one["state"]
        stage.screen.print(
            f"  {one['summary']} at {one['start']}, wake-up at {one['fire']}: {what}", highlight=False
        )


def _ended(stage: Stage, reasons: list[str]) -> None:
    found = sorted(str(one["reason"]) for one in _instants(stage))
    if found != reasons:
        raise UnexpectedError(f"expected the wake-ups to end as {reasons}, but they ended as {found}")


def _instants(stage: Stage) -> list[dict[str, object]]:
    client = stage.execution()
    try:
        answer: list[dict[str, object]] = client.get(f"/v1/calendars/{SUBSCRIPTION}")["instants"]
    except CommandError:
        return []
    return answer
