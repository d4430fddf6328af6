"""The XML of WebDAV: requests as bytes, answers as plain values (RFC 4918, 4791, 6578)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote, urljoin, urlsplit
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from sereno.execution_plane.listeners.calendar.sources.look import SourceAwayError

DAV, CALDAV, SERVER = "DAV:", "urn:ietf:params:xml:ns:caldav", "http://calendarserver.org/ns/"
_NAMESPACES = f'xmlns:D="{DAV}" xmlns:C="{CALDAV}" xmlns:S="{SERVER}"'
_HEAD = '<?xml version="1.0" encoding="utf-8"?>'

STATE = (
    f"{_HEAD}<D:propfind {_NAMESPACES}><D:prop><D:sync-token/><S:getctag/><D:supported-report-set/></D:prop></D:propfind>"
).encode()
LISTING = (
    f"{_HEAD}<D:propfind {_NAMESPACES}><D:prop><D:getetag/><D:resourcetype/></D:prop></D:propfind>".encode()
)


def sync(token: str) -> bytes:
    """What changed since a token; from the beginning when it is empty (RFC 6578, 3.2)."""
    return (
        f"{_HEAD}<D:sync-collection {_NAMESPACES}><D:sync-token>{escape(token)}</D:sync-token>"
        "<D:sync-level>1</D:sync-level><D:prop><D:getetag/></D:prop></D:sync-collection>"
    ).encode()


def multiget(hrefs: Sequence[str]) -> bytes:
    """The text of these objects (RFC 4791, 7.9)."""
    wanted = "".join(f"<D:href>{escape(href)}</D:href>" for href in hrefs)
    return (
        f"{_HEAD}<C:calendar-multiget {_NAMESPACES}><D:prop><D:getetag/><C:calendar-data/></D:prop>{wanted}"
        "</C:calendar-multiget>"
    ).encode()


@dataclass(frozen=True, slots=True)
class Item:
    """One answer within a multistatus: where it lies, whether it is gone, and what it has."""

    href: str
    status: int
    etag: str | None = None
    data: str | None = None
    is_collection: bool = False


@dataclass(frozen=True, slots=True)
class MultiStatus:
    """A multistatus, with the sync-token and ctag that it says, if any."""

    items: Sequence[Item] = ()
    sync_token: str | None = None
    ctag: str | None = None
    can_sync: bool = False
    is_truncated: bool = field(default=False)


def parse(body: bytes, url: str) -> MultiStatus:
    """What a multistatus says; raises `SourceAwayError` when it is none.

    No document type is read: entities are how XML grows without bound or asks for other files.
    """
    try:
        text = body.decode("utf-8-sig")
        if "<!DOCTYPE" in text.upper() or "<!ENTITY" in text.upper():
            raise SourceAwayError("the answer has a document type, which is not read")
        # Decoded before, so that no other encoding hides one from the line above.
        root = ET.fromstring(text)  # noqa: S314
    except (UnicodeDecodeError, ET.ParseError):
        raise SourceAwayError("the answer is no XML in UTF-8") from None
    if root.tag != _name(DAV, "multistatus"):
        raise SourceAwayError("the answer is no multistatus of WebDAV")
    items = [item for response in root.iter(_name(DAV, "response")) if (item := _item(response, url))]
    own = path_of(url)
    return MultiStatus(
        items=[item for item in items if item.href != own],
        sync_token=_text(root, DAV, "sync-token"),
        ctag=_text(root, SERVER, "getctag"),
        can_sync=next(root.iter(_name(DAV, "sync-collection")), None) is not None,
        # RFC 6578, 3.6: there is more than was sent, and the token continues behind what was.
        is_truncated=any(item.href == own and item.status == 507 for item in items),  # noqa: PLR2004
    )


def path_of(href: str) -> str:
    """The path by which a resource is known, whether written as a path or whole, escaped or not."""
    return unquote(urlsplit(href).path).rstrip("/")


def _item(response: ET.Element, url: str) -> Item | None:
    href = response.findtext(_name(DAV, "href"))
    if not href or not href.strip():
        return None
    status = _status(response.findtext(_name(DAV, "status")) or "HTTP/1.1 200 OK")
    collection = next(response.iter(_name(DAV, "collection")), None) is not None
    return Item(
        href=path_of(urljoin(url, href.strip())),
        status=status,
        etag=_text(response, DAV, "getetag"),
        data=next((each.text for each in response.iter(_name(CALDAV, "calendar-data")) if each.text), None),
        is_collection=collection,
    )


def _status(line: str) -> int:
    parts = line.split()
    return int(parts[1]) if len(parts) > 1 and parts[1].isdecimal() else 0


def _text(element: ET.Element, namespace: str, name: str) -> str | None:
    found: Iterator[ET.Element] = element.iter(_name(namespace, name))
    return next((each.text.strip() for each in found if each.text and each.text.strip()), None)


def _name(namespace: str, name: str) -> str:
    return f"{{{namespace}}}{name}"
