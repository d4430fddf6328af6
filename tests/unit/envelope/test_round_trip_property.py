"""Whatever we write we read back whole, in every mode, and the CloudEvents SDK accepts all of it."""

import orjson
import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_binary_event, from_structured_event
from hypothesis import given

from sereno.envelope.decode import Decoded, decode_http, decode_nats, loads_batch, loads_envelope
from sereno.envelope.encode import (
    BATCH_MEDIA_TYPE,
    MEDIA_TYPE,
    body,
    dumps,
    dumps_batch,
    flat,
    http_headers,
    nats_headers,
    rfc3339,
)
from sereno.envelope.envelope import Envelope
from sereno.envelope.event import Event
from tests.unit.envelope.generated import envelopes, events


@given(events())
def test_a_structured_event_comes_back_equal(event: Event) -> None:
    answer = decode_http([("Content-Type", MEDIA_TYPE)], dumps(event))
    assert answer == Decoded("structured", (event,))


@given(events(), events())
def test_a_batch_comes_back_equal_and_in_order(one: Event, other: Event) -> None:
    answer = decode_http([("Content-Type", BATCH_MEDIA_TYPE)], dumps_batch([one, other, one]))
    assert answer == Decoded("batch", (one, other, one))


@given(events())
def test_a_binary_message_carries_every_attribute_and_the_data(event: Event) -> None:
    for answer in (
        decode_nats(list(nats_headers(event).items()), body(event)),
        decode_http(list(http_headers(event).items()), body(event)),
    ):
        assert isinstance(answer, Decoded), answer
        assert answer.mode == "binary"
        (read,) = answer.events
        assert (read.id, read.source, read.type, read.time) == (
            event.id,
            event.source,
            event.type,
            event.time,
        )
        assert (read.subject, read.dataschema) == (event.subject, event.dataschema)
        assert read.data == (event.data if body(event) else None)
        assert dict(read.extensions) == spelt(event)


@given(events())
def test_headers_are_printable_ascii_and_need_no_quotes(event: Event) -> None:
    assert all(value.isascii() and " " not in value for value in nats_headers(event).values())
    headers = http_headers(event)
    assert "ce-datacontenttype" not in headers
    implied = "application/json" if event.data is not None and not isinstance(event.data, bytes) else None
    assert headers.get("content-type") == (event.datacontenttype or implied)


@given(events())
def test_the_sdk_accepts_a_binary_message(event: Event) -> None:
    theirs = from_binary_event(HTTPMessage(http_headers(event), body(event)))
    assert (theirs.get_id(), theirs.get_source(), theirs.get_type()) == (event.id, event.source, event.type)
    assert theirs.get_subject() == event.subject
    if event.time is not None:
        assert theirs.get_time() == event.time
    assert {name: theirs.get_extension(name) for name in event.extensions} == spelt(event)


def spelt(event: Event) -> dict[str, str]:
    """A header carries text alone: integers and booleans arrive in their canonical spelling."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in event.extensions.items()
    }


@given(envelopes(), envelopes())
def test_the_sdk_accepts_each_event_of_a_batch(one: Envelope, other: Envelope) -> None:
    for document in orjson.loads(dumps_batch([one, other])):
        read = from_structured_event(HTTPMessage({"content-type": MEDIA_TYPE}, orjson.dumps(document)))
        assert read.get_id() == document["id"]


@given(envelopes())
@pytest.mark.req(36, 38)
def test_an_envelope_comes_back_equal_from_our_stream(envelope: Envelope) -> None:
    assert loads_batch(dumps_batch([envelope, envelope])) == [envelope, envelope]
    assert loads_envelope(orjson.loads(dumps(envelope))) == envelope


@given(envelopes())
def test_what_we_emit_is_a_strict_cloudevent(envelope: Envelope) -> None:
    answer = decode_http([("Content-Type", MEDIA_TYPE)], dumps(envelope))
    assert isinstance(answer, Decoded), answer
    assert flat(answer.events[0]) == flat(envelope)


@given(envelopes())
def test_the_sdk_accepts_what_we_emit(envelope: Envelope) -> None:
    event = from_structured_event(HTTPMessage({"content-type": MEDIA_TYPE}, dumps(envelope)))
    theirs = dict(event.get_attributes())
    ours = flat(envelope)
    moment = theirs.pop("time")
    if envelope.time is None:
        assert "time" not in ours  # the SDK made its own up: the reason why it stands behind our decoder
    else:
        assert rfc3339(moment) == ours.pop("time")
    data = ours.pop("data", None)
    octets = ours.pop("data_base64", None)
    theirs.pop("data_base64", None)
    assert theirs == ours
    assert event.get_data() == (envelope.data if octets is not None else data)
