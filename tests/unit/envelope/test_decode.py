"""What the strict decoder refuses, and the few liberties a sender has."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from sereno.envelope.decode import MAX_BYTES, Decoded, Rejected, decode_http, decode_nats
from sereno.envelope.event import NULL, Event

STRUCTURED = [("Content-Type", "application/cloudevents+json")]
BATCH = [("Content-Type", "application/cloudevents-batch+json")]
MINIMAL = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
HEADERS = [("ce-specversion", "1.0"), ("ce-id", "1"), ("ce-source", "/s"), ("ce-type", "t")]


def structured(**members: Any) -> Decoded | Rejected:
    return decode_http(STRUCTURED, orjson.dumps(MINIMAL | members))


def binary(*headers: tuple[str, str], body: bytes = b"") -> Decoded | Rejected:
    return decode_http([*HEADERS, *headers], body)


def code(answer: Decoded | Rejected) -> str:
    assert isinstance(answer, Rejected), answer
    return answer.code


def event(answer: Decoded | Rejected) -> Event:
    assert isinstance(answer, Decoded), answer
    (only,) = answer.events
    return only


@pytest.mark.parametrize("name", ["specversion", "id", "source", "type"])
@pytest.mark.req(36, 38)
def test_nothing_required_is_ever_filled_in(name: str) -> None:
    document = {member: value for member, value in MINIMAL.items() if member != name}
    headers = [header for header in HEADERS if header[0] != f"ce-{name}"]
    for answer in (decode_http(STRUCTURED, orjson.dumps(document)), decode_http(headers, b"")):
        assert isinstance(answer, Rejected)
        assert (answer.code, answer.field) == ("missing_attribute", name)


def test_time_is_not_minted() -> None:
    assert event(structured()).time is None
    assert event(binary()).time is None


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"specversion": "0.3"}, "unsupported_specversion"),
        ({"specversion": 1}, "invalid_attribute_type"),
        ({"id": 7}, "invalid_attribute_type"),
        ({"id": ""}, "invalid_attribute_value"),
        ({"id": None}, "missing_attribute"),
        ({"source": "a b"}, "invalid_attribute_value"),
        ({"source": "a#b#c"}, "invalid_attribute_value"),
        ({"source": "%zz"}, "invalid_attribute_value"),
        ({"type": "a\u0007"}, "invalid_attribute_value"),
        ({"type": "a\ufffe"}, "invalid_attribute_value"),
        ({"dataschema": "relative/schema"}, "invalid_attribute_value"),
        ({"datacontenttype": "json"}, "invalid_attribute_value"),
        ({"Upper": "x"}, "invalid_attribute_name"),
        ({"my_ext": "x"}, "invalid_attribute_name"),
        ({"": "x"}, "invalid_attribute_name"),
        ({"ext": 1.5}, "invalid_attribute_type"),
        ({"ext": 2**31}, "invalid_attribute_value"),
        ({"ext": ["a"]}, "invalid_attribute_type"),
        ({"data": 1, "data_base64": "AA=="}, "invalid_data"),
        ({"data_base64": 5}, "invalid_data"),
        ({"data_base64": "A A="}, "invalid_data"),
        ({"datacontenttype": "text/plain", "data": {"a": 1}}, "invalid_data"),
    ],
)
def test_structured_refusals(members: dict[str, Any], expected: str) -> None:
    assert code(structured(**members)) == expected


@pytest.mark.parametrize(
    "time",
    [
        "2027-02-30T00:00:00Z",
        "2027-01-01 00:00:00Z",
        "2027-01-01T24:00:00Z",
        "2027-01-01T00:00Z",
        "20270101T000000Z",
        "2027-01-01T00:00:00+0100",
        "2027-01-01T00:00:00,5Z",
        "2027-01-01T00:00:00Z ",
        "٢٠٢٧-01-01T00:00:00Z",
        "0001-01-01T00:00:00+23:00",
        1798761600,
    ],
)
def test_what_is_no_rfc_3339_time(time: object) -> None:
    assert code(structured(time=time)) in {"invalid_time", "invalid_attribute_type"}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2027-01-01T01:00:00+01:00", datetime(2027, 1, 1, tzinfo=UTC)),
        ("2027-01-01t00:00:00z", datetime(2027, 1, 1, tzinfo=UTC)),
        ("2027-01-01T00:00:00.5Z", datetime(2027, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC)),
        ("2027-01-01T00:00:00.123456789Z", datetime(2027, 1, 1, 0, 0, 0, 123_456, tzinfo=UTC)),
        ("2016-12-31T23:59:60Z", datetime(2016, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
    ],
)
@pytest.mark.req(39)
def test_time_is_utc_cut_to_microseconds(written: str, read: datetime) -> None:
    moment = event(structured(time=written)).time
    assert moment == read
    assert moment is not None
    assert moment.tzinfo is UTC


def test_a_null_attribute_is_unset_and_null_data_is_data() -> None:
    assert event(structured(subject=None, ext=None)) == Event(id="1", source="/s", type="t")
    assert event(structured(data=None)).data is NULL
    assert event(binary(("Content-Type", "application/json"), body=b"null")).data is NULL


def test_the_headers_of_a_structured_message_change_nothing() -> None:
    answer = decode_http([*STRUCTURED, ("ce-id", "other"), ("ce-type", "forged")], orjson.dumps(MINIMAL))
    assert event(answer) == Event(id="1", source="/s", type="t")


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        ([("Content-Type", "application/json")], b"{}", "not_cloudevents"),
        ([], b"{}", "not_cloudevents"),
        ([*HEADERS, ("CE-ID", "2")], b"", "duplicate_attribute"),
        ([*HEADERS, ("ce-data", "x")], b"", "invalid_attribute_name"),
        ([*HEADERS, ("ce-my-ext", "x")], b"", "invalid_attribute_name"),
        ([*HEADERS, ("ce-", "x")], b"", "invalid_attribute_name"),
        ([*HEADERS, ("ce-ext", "50%")], b"", "invalid_header"),
        ([*HEADERS, ("ce-ext", "caf\u00e9")], b"", "invalid_header"),
        ([*HEADERS, ("ce-ext", "%ED%A0%80")], b"", "invalid_header"),
        ([*HEADERS, ("ce-ext", "%07")], b"", "invalid_attribute_value"),
        ([*HEADERS, ("Content-Type", "nonsense")], b"", "invalid_content_type"),
        ([*HEADERS, ("Content-Type", "a/b"), ("content-type", "c/d")], b"", "invalid_content_type"),
        ([("Content-Type", "application/cloudevents")], b"{}", "unsupported_media_type"),
        ([("Content-Type", "application/cloudevents+avro")], b"x", "unsupported_media_type"),
        ([("Content-Type", "application/cloudevents+json; charset=utf-16")], b"{}", "unsupported_media_type"),
        (STRUCTURED, b"[]", "invalid_event"),
        (STRUCTURED, b"", "invalid_json"),
        (STRUCTURED, b"\xff", "invalid_json"),
        (STRUCTURED, b'\xef\xbb\xbf{"specversion":"1.0"}', "invalid_json"),
        (BATCH, b"[1]", "invalid_event"),
    ],
)
def test_message_refusals(headers: list[tuple[str, str]], body: bytes, expected: str) -> None:
    assert code(decode_http(headers, body)) == expected


def test_an_invalid_element_refuses_the_batch_and_is_named() -> None:
    answer = decode_http(BATCH, orjson.dumps([MINIMAL, MINIMAL | {"id": ""}]))
    assert isinstance(answer, Rejected)
    assert answer.message.startswith("element 1 ")
    assert answer.field == "id"


def test_data_beyond_the_limit_is_refused_in_every_mode_and_never_cut() -> None:
    big = "x" * (MAX_BYTES + 1)
    assert code(structured(data=big)) == "too_large"
    assert code(binary(("Content-Type", "text/plain"), body=big.encode())) == "too_large"
    assert code(decode_http(BATCH, orjson.dumps([MINIMAL, MINIMAL | {"data": big}]))) == "too_large"
    assert code(structured(subject=big)) == "too_large"
    assert event(structured(data="x" * MAX_BYTES)).data == "x" * MAX_BYTES
    assert code(decode_http([*HEADERS], b"abc", max_bytes=2)) == "too_large"


def test_a_batch_may_be_larger_than_one_event() -> None:
    many = [MINIMAL | {"id": str(index), "data": "x" * 1000} for index in range(200)]
    answer = decode_http(BATCH, orjson.dumps(many))
    assert isinstance(answer, Decoded)
    assert len(answer.events) == 200


@pytest.mark.parametrize(
    ("content_type", "body", "data"),
    [
        (None, b"{}", b"{}"),
        ("application/octet-stream", b"abc", b"abc"),
        ("text/plain", b"\xff", b"\xff"),
        ("text/plain; charset=iso-8859-1", b"caf\xe9", b"caf\xe9"),
        ("text/html; charset=UTF-8", "é".encode(), "é"),
        ("image/svg+xml", b"<svg/>", "<svg/>"),
        ("application/problem+json", b'{"a":[1]}', {"a": [1]}),
        ("application/json", b"", None),
    ],
)
@pytest.mark.req(40)
def test_how_binary_data_is_read(content_type: str | None, body: bytes, data: object) -> None:
    headers = [] if content_type is None else [("Content-Type", content_type)]
    assert event(binary(*headers, body=body)).data == data


def test_nats_says_the_content_type_among_its_attributes() -> None:
    answer = decode_nats([*HEADERS, ("ce-datacontenttype", "application/json")], b'{"a":1}')
    assert event(answer).data == {"a": 1}
    assert event(answer).datacontenttype == "application/json"
    assert code(decode_nats([*HEADERS, ("ce-datacontenttype", "json")], b"{}")) == "invalid_attribute_value"
