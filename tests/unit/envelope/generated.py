"""Hypothesis strategies: events and envelopes as wide as the specification allows."""

from datetime import UTC, datetime

from hypothesis import strategies as st

from sereno.envelope.envelope import PLATFORM_ATTRIBUTES, TRACE_ATTRIBUTES, Envelope
from sereno.envelope.event import NULL, Event
from sereno.envelope.receipt import Receipt, receive

STANDARD = {"id", "source", "type", "time", "subject", "datacontenttype", "dataschema", "specversion", "data"}
FORBIDDEN = "".join(chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF))
TEXT = st.text(
    st.characters(
        exclude_categories=("Cs", "Cc"),
        exclude_characters=FORBIDDEN + "".join(map(chr, range(0xFDD0, 0xFDF0))),
    ),
    min_size=1,
    max_size=20,
)
MOMENTS = st.datetimes(
    datetime(1, 1, 2),  # noqa: DTZ001 - Hypothesis wants bounds without a zone
    datetime(9999, 12, 30),  # noqa: DTZ001 - the same
    timezones=st.just(UTC),
)
CHARACTERS = st.characters(codec="utf-8")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(CHARACTERS, max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(CHARACTERS, max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
).map(lambda value: NULL if value is None else value)
CONTENT = st.one_of(
    st.tuples(st.sampled_from([None, "application/json", "application/vnd.x+json; v=1"]), JSON),
    st.tuples(
        st.sampled_from(["text/plain", "application/xml"]),
        st.text(CHARACTERS, max_size=10),
    ),
    st.tuples(st.sampled_from(["application/octet-stream", "image/png"]), st.binary(max_size=20)),
    st.tuples(st.sampled_from([None, "application/json"]), st.none()),
)
NAMES = st.from_regex(r"[a-z0-9]{1,20}", fullmatch=True).filter(lambda name: name not in STANDARD)
VALUES = TEXT | st.booleans() | st.integers(-(1 << 31), (1 << 31) - 1)
FREE_NAMES = NAMES.filter(lambda name: name not in PLATFORM_ATTRIBUTES | TRACE_ATTRIBUTES)
SOURCES = st.sampled_from(
    ["/a", "https://example.com/x?y=1#z", "urn:uuid:6e8bc430", "a%20b", "1-555-123-4567"]
)
SCHEMAS = st.none() | st.sampled_from(["https://example.com/schema.json", "urn:x"])


@st.composite
def events(draw: st.DrawFn, names: st.SearchStrategy[str] = FREE_NAMES) -> Event:
    content_type, data = draw(CONTENT)
    return Event(
        id=draw(TEXT),
        source=draw(SOURCES),
        type=draw(TEXT),
        time=draw(st.none() | MOMENTS),
        subject=draw(st.none() | TEXT),
        datacontenttype=content_type,
        dataschema=draw(SCHEMAS),
        data=data,
        extensions=draw(st.dictionaries(names, VALUES, max_size=3)),
    )


@st.composite
def receipts(draw: st.DrawFn) -> Receipt:
    optional = st.none() | TEXT
    return Receipt(
        receiptid=str(draw(st.uuids())),
        tenantid=draw(TEXT),
        origin=draw(TEXT),
        recordedtime=draw(MOMENTS),
        dedupkey=draw(TEXT),
        trust=draw(st.sampled_from(["platform", "authenticated", "untrusted"])),
        actor=draw(optional),
        actorid=draw(optional),
        onbehalfof=draw(optional),
        sensitivity=draw(st.sampled_from([None, "public", "internal", "confidential"])),
        dataref=draw(st.none() | SCHEMAS),
        traceparent=draw(st.sampled_from([None, f"00-{'1' * 32}-{'2' * 16}-01"])),
        correlationid=draw(optional),
        causationid=draw(optional),
        hops=draw(st.integers(1, 9)),
    )


OUR_NAMES = st.sampled_from(sorted(PLATFORM_ATTRIBUTES | TRACE_ATTRIBUTES))


def envelopes() -> st.SearchStrategy[Envelope]:
    return st.builds(receive, events(OUR_NAMES | FREE_NAMES), receipts())
