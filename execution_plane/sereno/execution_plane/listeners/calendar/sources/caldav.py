"""A CalDAV collection: what changed since the last look, by sync-token where offered, else by ctag and ETags."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from sereno.execution_plane.listeners.calendar.sources import dav_xml
from sereno.execution_plane.listeners.calendar.sources.dav_xml import Item, MultiStatus, path_of
from sereno.execution_plane.listeners.calendar.sources.http import CalendarHttp, address_of, body_of
from sereno.execution_plane.listeners.calendar.sources.look import (
    MAX_RESOURCES,
    MAX_TOTAL_BYTES,
    Last,
    Look,
    Resource,
    SourceAwayError,
)
from sereno.subscriptions.models.source import CalendarSource

_MULTISTATUS = 207
_GONE = 404
_TOKEN_REFUSED = frozenset({400, 403, 409, 410, 412})
_AT_ONCE = 100
_MAX_PAGES = 500


class CalDavSource:
    """Asks a collection what changed, and for the objects that did."""

    def __init__(self, http: CalendarHttp) -> None:
        self._http = http

    async def look(self, source: CalendarSource, last: Last) -> Look:
        """See `Source.look`."""
        url = address_of(source)
        state = await self._ask(source, "PROPFIND", url, dav_xml.STATE, "0")
        before = last.cursor
        if state.can_sync and state.sync_token:
            token = before.get("token")
            if token == state.sync_token:
                return Look(before)
            return await self._by_token(source, url, last, token)
        if state.ctag and before.get("ctag") == state.ctag:
            return Look(before)
        cursor = {"ctag": state.ctag}
        return await self._by_listing(source, url, last, cursor)

    async def _by_token(self, source: CalendarSource, url: str, last: Last, token: str | None) -> Look:
        changed: dict[str, Item] = {}
        following = token or ""
        for _ in range(_MAX_PAGES):
            answer = await self._http.ask("REPORT", url, source, _headers("0"), dav_xml.sync(following))
            if following and following == token and answer.status in _TOKEN_REFUSED:
                # The server forgot that far back: begin anew, and what it does not name is gone.
                return await self._by_token(source, url, last, None)
            page = dav_xml.parse(body_of(answer, _MULTISTATUS), url)
            changed |= {item.href: item for item in page.items}
            if page.sync_token is None:
                raise SourceAwayError("the server answers a sync without a token")
            following = page.sync_token
            if not page.is_truncated:
                break
        cursor = {"token": following}
        return await self._fetched(source, url, last, changed, cursor, is_whole=token is None)

    async def _by_listing(
        self, source: CalendarSource, url: str, last: Last, cursor: Mapping[str, Any]
    ) -> Look:
        listed = await self._ask(source, "PROPFIND", url, dav_xml.LISTING, "1")
        present = {item.href: item for item in listed.items}
        return await self._fetched(source, url, last, present, cursor, is_whole=True)

    async def _fetched(
        self,
        source: CalendarSource,
        url: str,
        last: Last,
        named: Mapping[str, Item],
        cursor: Mapping[str, Any],
        *,
        is_whole: bool,
    ) -> Look:
        """The texts of what is named and not known in this version; with `is_whole`, what is not named is gone."""
        own = path_of(url) + "/"
        there = {
            href: item
            for href, item in named.items()
            if item.status != _GONE and not item.is_collection and href.startswith(own)
        }
        if len(there) > MAX_RESOURCES:
            raise SourceAwayError(f"the collection has more than {MAX_RESOURCES} objects")
        wanted = [
            href for href, item in there.items() if item.etag is None or last.etags.get(href) != item.etag
        ]
        found = await self._texts(source, url, wanted)
        gone = [href for href in last.etags if href not in there] if is_whole else []
        gone += [href for href, item in named.items() if item.status == _GONE and href in last.etags]
        return Look(cursor, found, gone)

    async def _texts(self, source: CalendarSource, url: str, hrefs: Sequence[str]) -> list[Resource]:
        found: list[Resource] = []
        size = 0
        for start in range(0, len(hrefs), _AT_ONCE):
            part = [quote(href) for href in hrefs[start : start + _AT_ONCE]]
            answer = await self._ask(source, "REPORT", url, dav_xml.multiget(part), "1")
            for item in answer.items:
                if item.data is not None:
                    found.append(Resource(item.href, item.data, item.etag))
                    size += len(item.data)
            if size > MAX_TOTAL_BYTES:
                raise SourceAwayError(f"the collection is larger than {MAX_TOTAL_BYTES} bytes")
        return found

    async def _ask(
        self, source: CalendarSource, method: str, url: str, body: bytes, depth: str
    ) -> MultiStatus:
        answer = await self._http.ask(method, url, source, _headers(depth), body)
        return dav_xml.parse(body_of(answer, _MULTISTATUS), urlsplit(url).geturl())


def _headers(depth: str) -> dict[str, str]:
    return {"Content-Type": "application/xml; charset=utf-8", "Depth": depth}
