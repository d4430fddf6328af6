"""Calendars on real servers: Radicale, a server that knows no sync-token, and feeds."""

import re
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sereno.deploy.demo.calendar_server import USER, CalendarServer, calendar_server
from sereno.execution_plane.listeners.calendar.sources.caldav import CalDavSource
from sereno.execution_plane.listeners.calendar.sources.feed import FeedSource
from sereno.execution_plane.listeners.calendar.sources.http import CalendarHttp
from sereno.execution_plane.listeners.calendar.sources.look import Last, SourceAwayError
from sereno.mailbox.outbound import Addresses, Limits
from sereno.subscriptions.models.source import CalendarSource
from tests.calendars import CalendarClock, calendar, followed
from tests.driven_clock import DAY
from tests.integration.pipeline.conftest import Plane
from tests.serving import serving

LIMITS = Limits(200_000, timedelta(seconds=30))


def at(hour: int, minute: int = 0) -> datetime:
    return DAY + timedelta(hours=hour, minutes=minute)


def meeting(hour: int, more: str = "", uid: str = "meeting") -> str:
    return calendar(
        f"UID:{uid}\nDTSTAMP:20261101T000000Z\nSUMMARY:Budget\nDTSTART:20261130T{hour:02}0000Z{more}"
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CalendarServer]:
    with calendar_server(tmp_path_factory.mktemp("radicale")) as running:
        yield running


@pytest.fixture
async def http(server: CalendarServer) -> AsyncIterator[CalendarHttp]:
    opened = Addresses.opening(["127.0.0.0/8"])
    made = CalendarHttp(opened, LIMITS, lambda reference: Path(reference.removeprefix("file:")).read_bytes())
    yield made
    await made.close()


@pytest.fixture
def clock(plane: Plane) -> CalendarClock:
    return CalendarClock(plane)


def caldav(server: CalendarServer, **more: Any) -> dict[str, Any]:
    credentials = {"username": USER, "password": f"file:{server.password_file}"}
    return {"caldav": server.url, "credentials": credentials, **more}


@pytest.mark.req(4, 53, 54, 55)
async def test_a_meeting_on_radicale_is_followed_when_it_moves_and_when_it_is_removed(
    clock: CalendarClock, server: CalendarServer, http: CalendarHttp
) -> None:
    await clock.plane.in_force(followed("prepare", caldav(server)))
    server.put("meeting", meeting(15))
    server.put("other", meeting(18, uid="other"))
    server.put("strange", calendar("UID:strange\nDTSTAMP:20261101T000000Z\nDTSTART:20261130T180000"))
    watcher = clock.watcher(caldav=CalDavSource(http))
    await clock.turn(at(10), watcher)
    assert await clock.to_come() == [at(14, 50), at(17, 50)]
    server.put("meeting", meeting(16))
    await clock.turn(at(10, 1), watcher)
    assert await clock.to_come() == [at(15, 50), at(17, 50)]
    server.delete("meeting")
    for now in (at(10, 2), at(14, 50), at(15, 50), at(17, 50)):
        await clock.turn(now, watcher)
    assert await clock.messages() == [at(17, 50)]
    (cursor,) = [row["cursor"] for row in await clock.plane.rows("select cursor from execution.calendar")]
    assert set(cursor) == {"token"}
    assert await clock.told() == ["calendar_entry", "anchor_removed"]
    server.delete("other")
    server.delete("strange")


async def test_a_token_that_the_server_forgot_begins_anew_and_keeps_what_is_there(
    server: CalendarServer, http: CalendarHttp
) -> None:
    source = CalendarSource.model_validate(caldav(server))
    server.put("meeting", meeting(15))
    look = await CalDavSource(http).look(source, Last())
    (href,) = [each.href for each in look.resources if each.href.endswith("/meeting.ics")]
    etags = {each.href: each.etag for each in look.resources} | {"/marta/work/gone.ics": "old"}
    unchanged = await CalDavSource(http).look(source, Last(look.cursor, etags))
    assert not unchanged.is_news
    forgotten = {"token": "http://radicale.org/ns/sync/0123456789"}
    again = await CalDavSource(http).look(source, Last(forgotten, etags))
    assert (again.resources, again.gone) == ([], ["/marta/work/gone.ics"])
    assert again.cursor["token"] != forgotten["token"]
    server.delete("meeting")
    after = await CalDavSource(http).look(source, Last(again.cursor, etags))
    assert after.gone == [href]


async def test_a_wrong_password_is_said_and_never_shown(
    server: CalendarServer, http: CalendarHttp, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text("not-the-password")
    credentials = {"username": USER, "password": f"file:{tmp_path}/password"}
    source = CalendarSource.model_validate(caldav(server, credentials=credentials))
    with pytest.raises(SourceAwayError, match="does not know these credentials") as raised:
        await CalDavSource(http).look(source, Last())
    assert "not-the-password" not in str(raised.value)


class OldServer:
    """A CalDAV server that offers a ctag and no sync-token; it counts what it is asked."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[str, str]] = {}
        self.version = 0
        self.asked: list[str] = []

    def put(self, name: str, text: str) -> None:
        self.version += 1
        self.objects[name] = (f'"{self.version}"', text)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        body = (await request.body()).decode()
        self.asked.append(f"{request.method} {request.headers.get('depth')}")
        await Response(self._answer(request, body), 207, media_type="application/xml")(scope, receive, send)

    def _answer(self, request: Request, body: str) -> str:
        if "getctag" in body:
            return _multistatus(_response("/cal/", f"<S:getctag>{self.version}</S:getctag>"))
        wanted = re.findall(r"<D:href>/cal/([^<]+)</D:href>", body) or list(self.objects)
        found = [(name, *self.objects[name]) for name in wanted if name in self.objects]
        texts = "multiget" in body
        return _multistatus(
            _response("/cal/", "<D:resourcetype><D:collection/></D:resourcetype>"),
            *(
                _response(
                    f"http://{request.headers['host']}/cal/{name}",
                    f"<D:getetag>{etag}</D:getetag>"
                    + (f"<C:calendar-data><![CDATA[{text}]]></C:calendar-data>" if texts else ""),
                )
                for name, etag, text in found
            ),
        )


def _response(href: str, properties: str) -> str:
    return (
        f"<D:response><D:href>{href}</D:href><D:propstat><D:prop>{properties}</D:prop>"
        "<D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
    )


def _multistatus(*responses: str) -> str:
    return (
        '<?xml version="1.0"?><D:multistatus xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav" '
        f'xmlns:S="http://calendarserver.org/ns/">{"".join(responses)}</D:multistatus>'
    )


async def test_without_sync_tokens_a_ctag_says_whether_to_look_and_etags_say_at_what(
    http: CalendarHttp,
) -> None:
    old = OldServer()
    old.put("a.ics", meeting(15, uid="a"))
    old.put("b%20b.ics", meeting(16, uid="b"))
    async with serving(old) as url:
        source = CalendarSource.model_validate({"caldav": f"{url}/cal/"})
        first = await CalDavSource(http).look(source, Last())
        etags = {each.href: each.etag for each in first.resources}
        assert set(etags) == {"/cal/a.ics", "/cal/b b.ics"}
        old.asked.clear()
        assert not (await CalDavSource(http).look(source, Last(first.cursor, etags))).is_news
        assert old.asked == ["PROPFIND 0"]
        old.put("a.ics", meeting(17, uid="a"))
        del old.objects["b%20b.ics"]
        second = await CalDavSource(http).look(source, Last(first.cursor, etags))
        assert [each.href for each in second.resources] == ["/cal/a.ics"]
        assert second.gone == ["/cal/b b.ics"]


HOSTILE = {
    "entities": '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><D:multistatus xmlns:D="DAV:"/>',
    "no xml": "<html><p>hello",
    "another document": '<x xmlns="DAV:"/>',
    "too large": "x" * 300_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
async def test_an_answer_that_is_no_multistatus_is_refused(http: CalendarHttp, kind: str) -> None:
    async with serving(Response(HOSTILE[kind], 207)) as url:
        source = CalendarSource.model_validate({"caldav": f"{url}/cal/"})
        with pytest.raises(SourceAwayError):
            await CalDavSource(http).look(source, Last())


class Feed:
    """A feed with validators, behind as many redirects as it is told to make."""

    def __init__(self, text: str, redirects: int = 0) -> None:
        self.text, self.redirects = text, redirects
        self.validators: list[str | None] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        hop = int(request.query_params.get("hop", "0"))
        self.validators.append(request.headers.get("if-none-match"))
        answer: Response = Response(self.text, headers={"ETag": f'"{hash(self.text)}"'})
        if hop < self.redirects:
            answer = RedirectResponse(f"/feed.ics?hop={hop + 1}")
        elif request.headers.get("if-none-match") == f'"{hash(self.text)}"':
            answer = Response(status_code=304)
        await answer(scope, receive, send)


async def test_a_feed_is_read_again_only_when_it_changed(clock: CalendarClock, http: CalendarHttp) -> None:
    feed = Feed(meeting(15), redirects=3)
    async with serving(feed) as url:
        await clock.plane.in_force(followed("prepare", {"url": f"{url}/feed.ics"}))
        watcher = clock.watcher(url=FeedSource(http))
        await clock.turn(at(10), watcher)
        await clock.turn(at(10, 1), watcher)
        assert feed.validators[:4] == [None] * 4
        assert feed.validators[4:] == [f'"{hash(feed.text)}"'] * 4
        feed.text = meeting(16)
        for now in (at(10, 2), at(14, 50), at(15, 50)):
            await clock.turn(now, watcher)
    assert await clock.messages() == [at(15, 50)]


async def test_a_feed_that_leads_astray_is_not_followed() -> None:
    feed = Feed(meeting(15), redirects=4)
    source = CalendarSource.model_validate({"url": "http://127.0.0.1/feed.ics"})
    async with serving(feed) as url:
        for opened, address, why in (
            (["127.0.0.0/8"], url, "more than 3 times"),
            ([], url, "plain http"),
            (["127.0.0.0/8"], "https://169.254.169.254", "may not reach"),
            (["127.0.0.0/8"], "https://[64:ff9b::a9fe:a9fe]", "may not reach"),
        ):
            made = CalendarHttp(Addresses.opening(opened), LIMITS, lambda _: None)
            asked = CalendarSource.model_validate(
                {**source.model_dump(exclude_none=True), "url": f"{address}/feed.ics"}
            )
            with pytest.raises(SourceAwayError, match=why):
                await FeedSource(made).look(asked, Last())
            await made.close()
