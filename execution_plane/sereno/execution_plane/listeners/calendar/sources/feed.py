"""A calendar feed: one iCalendar file behind a URL, asked for again only when it changed (RFC 9110, 13)."""

import hashlib

from sereno.execution_plane.listeners.calendar.sources.http import CalendarHttp, address_of, body_of
from sereno.execution_plane.listeners.calendar.sources.look import Last, Look, Resource, decoded
from sereno.subscriptions.models.source import CalendarSource

_NOT_MODIFIED, _OK = 304, 200


class FeedSource:
    """Asks with the validators of the last answer."""

    def __init__(self, http: CalendarHttp) -> None:
        self._http = http

    async def look(self, source: CalendarSource, last: Last) -> Look:
        """See `Source.look`."""
        headers = {"Accept": "text/calendar"}
        if etag := last.cursor.get("etag"):
            headers["If-None-Match"] = etag
        if modified := last.cursor.get("modified"):
            headers["If-Modified-Since"] = modified
        answer = await self._http.ask("GET", address_of(source), source, headers)
        if answer.status == _NOT_MODIFIED and last.cursor:
            return Look(last.cursor)
        content = body_of(answer, _OK)
        cursor = {
            "etag": answer.headers.get("etag"),
            "modified": answer.headers.get("last-modified"),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        if last.cursor.get("sha256") == cursor["sha256"]:
            return Look(cursor)
        return Look(cursor, [Resource("", decoded(content))], is_whole=True)
