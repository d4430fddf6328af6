"""What the specifications say beyond the shared cases: one row a rule, each with the section that decides it.

`core` is CloudEvents 1.0.2, `json` its JSON event format, `http` its HTTP protocol binding, `nats` its NATS binding.
"""

from base64 import b64encode
from typing import Any

import orjson
import pytest

from sereno.envelope.check import answer
from sereno.envelope.decode import MAX_BYTES, Decoded, Rejected, decode_http, decode_nats

JSON_EVENT = ("Content-Type", "application/cloudevents+json")
BATCH = ("Content-Type", "application/cloudevents-batch+json")
MINIMAL: dict[str, Any] = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
HEADERS = [("ce-specversion", "1.0"), ("ce-id", "1"), ("ce-source", "/s"), ("ce-type", "t")]
ACCEPTED = "accepted"


def verdict(decoded: Decoded | Rejected) -> str:
    return decoded.code if isinstance(decoded, Rejected) else ACCEPTED


def structured(**members: Any) -> str:
    return verdict(decode_http([JSON_EVENT], orjson.dumps(MINIMAL | members)))


def text(document: str, kind: tuple[str, str] = JSON_EVENT) -> str:
    return verdict(decode_http([kind], document.encode("utf-8", "surrogatepass")))


def binary(*headers: tuple[str, str], body: bytes = b"") -> str:
    return verdict(decode_http([*HEADERS, *headers], body))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # core, source: the examples of the specification
        ("https://github.com/cloudevents", ACCEPTED),
        ("mailto:cncf-wg-serverless@lists.cncf.io", ACCEPTED),
        ("urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66", ACCEPTED),
        ("/cloudevents/spec/pull/123", ACCEPTED),
        ("1-555-123-4567", ACCEPTED),
        # RFC 3986, 4.1 and 4.2: references of every form
        ("//example.com/a", ACCEPTED),
        ("?query", ACCEPTED),
        ("#fragment", ACCEPTED),
        ("./a:b", ACCEPTED),
        ("..", ACCEPTED),
        # RFC 3986, 3.2.2: IP literals
        ("http://[2001:db8::1]:80/a", ACCEPTED),
        ("http://[v1.fe]/", ACCEPTED),
        ("http://[2001:db8::1::]/", "invalid_attribute_value"),
        ("http://[::1", "invalid_attribute_value"),
        ("/a[0]", "invalid_attribute_value"),
        # RFC 3986, 4.2: a colon in the first segment would read as a scheme
        ("1:abc", "invalid_attribute_value"),
        (":abc", "invalid_attribute_value"),
        # RFC 3986, 2: ASCII, without space, quotes, angle or curly brackets, backslash, caret, backtick, bar
        ("", "invalid_attribute_value"),
        (" /s", "invalid_attribute_value"),
        ("/a b", "invalid_attribute_value"),
        ("/caf\u00e9", "invalid_attribute_value"),
        ('/"a"', "invalid_attribute_value"),
        ("/<a>", "invalid_attribute_value"),
        ("/{id}", "invalid_attribute_value"),
        ("a\\b", "invalid_attribute_value"),
        ("/a^b", "invalid_attribute_value"),
        ("/a|b", "invalid_attribute_value"),
        # RFC 3986, 2.1 and 3.5: percent-encoding; one fragment at most
        ("/caf%C3%A9", ACCEPTED),
        ("/100%", "invalid_attribute_value"),
        ("/%zz", "invalid_attribute_value"),
        ("a#b#c", "invalid_attribute_value"),
        ("http://host:port/", "invalid_attribute_value"),
    ],
)
def test_source_is_a_uri_reference(source: str, expected: str) -> None:
    assert structured(source=source) == expected


@pytest.mark.parametrize(
    ("dataschema", "expected"),
    [
        # core, dataschema: a non-empty URI; a fragment is what the JSON Schema of the specification ("uri") allows
        ("https://example.com/order.json", ACCEPTED),
        ("https://example.com/order.json#/definitions/line", ACCEPTED),
        ("urn:example:schema", ACCEPTED),
        ("/relative", "invalid_attribute_value"),
        ("example.com/schema", "invalid_attribute_value"),
        ("", "invalid_attribute_value"),
        ("https://example.com/a b", "invalid_attribute_value"),
    ],
)
def test_dataschema_is_a_uri(dataschema: str, expected: str) -> None:
    assert structured(dataschema=dataschema) == expected


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        # RFC 3339, 5.6: letters of either case, any number of decimals, an offset of hours and minutes
        ("2018-04-05T17:31:00Z", ACCEPTED),
        ("2018-04-05t17:31:00z", ACCEPTED),
        ("2018-04-05T17:31:00.1Z", ACCEPTED),
        ("2018-04-05T17:31:00.123456789012Z", ACCEPTED),
        ("2018-04-05T17:31:00+23:59", ACCEPTED),
        # 4.3: the offset of nobody knows where
        ("2018-04-05T17:31:00-00:00", ACCEPTED),
        # 5.7: a leap second ends a month, in UTC
        ("2016-12-31T23:59:60Z", ACCEPTED),
        ("1990-12-31T15:59:60-08:00", ACCEPTED),
        ("2016-12-31T23:59:60.5Z", ACCEPTED),
        ("2016-12-30T23:59:60Z", "invalid_time"),
        ("2016-12-31T22:59:60Z", "invalid_time"),
        ("2016-12-31T23:59:60+01:00", "invalid_time"),
        ("2016-12-31T23:59:61Z", "invalid_time"),
        # what other standards allow and this one does not
        ("2018-04-05 17:31:00Z", "invalid_time"),
        ("2018-04-05T17:31Z", "invalid_time"),
        ("2018-04-05T17:31:00", "invalid_time"),
        ("2018-04-05T17:31:00+0200", "invalid_time"),
        ("2018-04-05T17:31:00+02", "invalid_time"),
        ("2018-04-05T17:31:00,5Z", "invalid_time"),
        ("2018-04-05T17:31:00.Z", "invalid_time"),
        ("2018-04-05T24:00:00Z", "invalid_time"),
        ("2018-04-05T17:60:00Z", "invalid_time"),
        ("2018-04-31T00:00:00Z", "invalid_time"),
        ("2018-13-01T00:00:00Z", "invalid_time"),
        ("2018-04-05T17:31:00+24:00", "invalid_time"),
        ("2018-04-05T17:31:00+02:60", "invalid_time"),
        ("18-04-05T17:31:00Z", "invalid_time"),
        ("+2018-04-05T17:31:00Z", "invalid_time"),
        ("2018-W14-4T17:31:00Z", "invalid_time"),
        ("2018-04-05", "invalid_time"),
        ("2018-04-05T17:31:00Z\u2028", "invalid_time"),
        # core, Type System: control characters come first
        ("2018-04-05T17:31:00Z\n", "invalid_attribute_value"),
        ("", "invalid_attribute_value"),
        # json, 2.2: a Timestamp is a string
        (1522949460, "invalid_attribute_type"),
        (None, ACCEPTED),
    ],
)
def test_time_is_rfc_3339(time: object, expected: str) -> None:
    assert structured(time=time) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # core, Naming Conventions: [a-z0-9]+; more than 20 characters and a leading digit are only discouraged
        ("abc123", ACCEPTED),
        ("1abc", ACCEPTED),
        ("a", ACCEPTED),
        ("a" * 64, ACCEPTED),
        ("Abc", "invalid_attribute_name"),
        ("a_b", "invalid_attribute_name"),
        ("a-b", "invalid_attribute_name"),
        ("a.b", "invalid_attribute_name"),
        ("a b", "invalid_attribute_name"),
        ("", "invalid_attribute_name"),
        ("\u00e4", "invalid_attribute_name"),
        ("\u0661", "invalid_attribute_name"),
        ("a\n", "invalid_attribute_name"),
        ("Id", "invalid_attribute_name"),
        ("dataBase64", "invalid_attribute_name"),
    ],
)
def test_names_of_attributes(name: str, expected: str) -> None:
    assert structured(**{name: "x"}) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # json, 2.2: boolean, integer without fraction or exponent, string; core, Integer: 32 bits
        (True, ACCEPTED),
        (-(2**31), ACCEPTED),
        (2**31 - 1, ACCEPTED),
        (2**31, "invalid_attribute_value"),
        (-(2**31) - 1, "invalid_attribute_value"),
        (1.0, "invalid_attribute_type"),
        (0.5, "invalid_attribute_type"),
        ([], "invalid_attribute_type"),
        ({}, "invalid_attribute_type"),
        ("", ACCEPTED),
        (" ", ACCEPTED),
        (None, ACCEPTED),
        # core, String: no control characters, no noncharacters
        ("\u0000", "invalid_attribute_value"),
        ("\t", "invalid_attribute_value"),
        ("\u007f", "invalid_attribute_value"),
        ("\u0085", "invalid_attribute_value"),
        ("\ufffe", "invalid_attribute_value"),
        ("\ufdd0", "invalid_attribute_value"),
        ("\U0001ffff", "invalid_attribute_value"),
        ("\U0001f600", ACCEPTED),
        ("\ufeff", ACCEPTED),
    ],
)
def test_values_of_extensions(value: object, expected: str) -> None:
    assert structured(ext=value) == expected


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        # json, 2.2: "only the integer component" of a number
        ('{"specversion":"1.0","id":"1","source":"/s","type":"t","ext":5e0}', "invalid_attribute_type"),
        ('{"specversion":"1.0","id":"1","source":"/s","type":"t","ext":-0}', ACCEPTED),
        # core, String: surrogates only in pairs
        ('{"specversion":"1.0","id":"\\ud83d\\ude00","source":"/s","type":"t"}', ACCEPTED),
        ('{"specversion":"1.0","id":"\\udead","source":"/s","type":"t"}', "invalid_json"),
        ('{"specversion":"1.0","id":"1","source":"/s","type":"t","data":"\\ud800"}', "invalid_json"),
        ('{"specversion":"1.0","id":"1","source":"/s","type":"t","data":"\ud800"}', "invalid_json"),
        # RFC 8259, 4: members of one name, however spelt and however deep
        ('{"specversion":"1.0","id":"1","source":"/s","type":"t","\\u0069d":"2"}', "invalid_json"),
        ('{"specversion":"1.0","id":"1","source":"/s","type":"t","id":"1"}', "invalid_json"),
        ('{"specversion":"1.0","id":"1","source":"/s","type":"t","id":null}', "invalid_json"),
        (
            '{"specversion":"1.0","id":"1","source":"/s","type":"t","data":{"a":[{"b":1,"b":1}]}}',
            "invalid_json",
        ),
        # RFC 8259, 2 to 8: what is no JSON text
        ("", "invalid_json"),
        ("\ufeff{}", "invalid_json"),
        ('{"specversion":"1.0",}', "invalid_json"),
        ('{"specversion":"1.0"} {}', "invalid_json"),
        ("{'specversion':'1.0'}", "invalid_json"),
        ('{"specversion":"1.0","data":NaN}', "invalid_json"),
        ('{"specversion":"1.0","data":01}', "invalid_json"),
        ('{"specversion":"1.0","data":"\t"}', "invalid_json"),
        ('{"specversion":"1.0","data":1e999}', "invalid_json"),
        ('{"specversion":"1.0","data":123456789012345678901}', "invalid_json"),
        # json, 3: an event is an object
        ("null", "invalid_event"),
        ('"event"', "invalid_event"),
        ("[]", "invalid_event"),
    ],
)
def test_the_json_text(document: str, expected: str) -> None:
    assert text(document) == expected


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        # json, 4: a batch is an array of events, empty or not, and has no members of its own
        ("[]", ACCEPTED),
        ("{}", "invalid_batch"),
        ("null", "invalid_batch"),
        ("[null]", "invalid_event"),
        ("[[]]", "invalid_event"),
        ('[{"specversion":"1.0","id":"1","source":"/s","type":"t"},{}]', "missing_attribute"),
        ('[{"specversion":"1.0","id":"1","source":"/s","type":"t"}]', ACCEPTED),
    ],
)
def test_the_batch(document: str, expected: str) -> None:
    assert text(document, BATCH) == expected


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        # core: the required attributes are non-empty strings; specversion is exactly 1.0
        ({"id": ""}, "invalid_attribute_value"),
        ({"type": ""}, "invalid_attribute_value"),
        ({"id": 1}, "invalid_attribute_type"),
        ({"type": True}, "invalid_attribute_type"),
        ({"specversion": "1.0.2"}, "unsupported_specversion"),
        ({"specversion": "1"}, "unsupported_specversion"),
        ({"specversion": "2.0"}, "unsupported_specversion"),
        ({"specversion": ""}, "invalid_attribute_value"),
        ({"specversion": 1.0}, "invalid_attribute_type"),
        # json, 2.2: null is unset, and a required attribute must be set
        ({"type": None}, "missing_attribute"),
        ({"specversion": None}, "missing_attribute"),
        ({"subject": None, "dataschema": None, "datacontenttype": None}, ACCEPTED),
        # core, subject and datacontenttype: non-empty when present; a media type (RFC 2046)
        ({"subject": ""}, "invalid_attribute_value"),
        ({"subject": 5}, "invalid_attribute_type"),
        ({"datacontenttype": ""}, "invalid_attribute_value"),
        ({"datacontenttype": "text"}, "invalid_attribute_value"),
        ({"datacontenttype": "text/"}, "invalid_attribute_value"),
        ({"datacontenttype": "text/plain; charset"}, "invalid_attribute_value"),
        ({"datacontenttype": 'TEXT/Plain; CharSet="utf-8"', "data": "a"}, ACCEPTED),
        ({"datacontenttype": 'multipart/mixed; boundary="a;b\\"c"', "data": "a"}, ACCEPTED),
        ({"datacontenttype": "application/json"}, ACCEPTED),
        # json, 3.1.1: data and data_base64 exclude each other
        ({"data": None, "data_base64": "AA=="}, "invalid_data"),
        ({"data": "", "data_base64": "AA=="}, "invalid_data"),
        ({"data": 1, "data_base64": None}, ACCEPTED),
        # json, 3.1.2 with RFC 4648, 3.3 and 3.5: the plain alphabet, padded, one spelling for one value
        ({"data_base64": ""}, ACCEPTED),
        ({"data_base64": "AA"}, "invalid_data"),
        ({"data_base64": "AA=== "}, "invalid_data"),
        ({"data_base64": "A\nA=="}, "invalid_data"),
        ({"data_base64": "-_-_"}, "invalid_data"),
        ({"data_base64": "AB=="}, "invalid_data"),
        ({"data_base64": "AAAA=="}, "invalid_data"),
        ({"data_base64": "\u00e4AAA"}, "invalid_data"),
        ({"data_base64": {}}, "invalid_data"),
        # json, 3.1.2: what is declared to be no JSON comes as a string
        ({"datacontenttype": "text/xml", "data": "<a/>"}, ACCEPTED),
        ({"datacontenttype": "text/xml", "data": 5}, "invalid_data"),
        ({"datacontenttype": "application/vnd.acme+json; v=1", "data": 5}, ACCEPTED),
        ({"datacontenttype": "text/json", "data": {}}, ACCEPTED),
    ],
)
def test_the_members_of_an_event(members: dict[str, Any], expected: str) -> None:
    assert structured(**members) == expected


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        # extensions/: a documented extension that is used keeps its own rules
        ({"expirytime": "tomorrow"}, "invalid_time"),
        ({"expirytime": "2027-01-01T00:00:00Z"}, ACCEPTED),
        ({"recordedtime": 5}, "invalid_attribute_type"),
        ({"dataref": "not a uri"}, "invalid_attribute_value"),
        ({"dataref": "../blob/1"}, ACCEPTED),
        ({"partitionkey": ""}, "invalid_attribute_value"),
        ({"sequence": ""}, "invalid_attribute_value"),
        ({"sampledrate": 0}, "invalid_attribute_value"),
        ({"sampledrate": "30"}, ACCEPTED),
        ({"sampledrate": True}, "invalid_attribute_value"),
        ({"correlationid": ""}, "invalid_attribute_value"),
        ({"causationid": "a"}, ACCEPTED),
        # trace context is the exception: an invalid one is ignored, the event stays (W3C, 3.2 and 4)
        ({"traceparent": "nonsense", "tracestate": ""}, ACCEPTED),
    ],
)
def test_documented_extensions(members: dict[str, Any], expected: str) -> None:
    assert structured(**members) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # http, 3.1.3.2: unquote, then one round of percent-decoding; lower case and needless escapes are accepted
        ("plain", ACCEPTED),
        ("%41%2f%e2%82%ac", ACCEPTED),
        ("raw space and \\ backslash", ACCEPTED),
        ('"quoted \\"value\\" \\\\"', ACCEPTED),
        ('""', ACCEPTED),
        ("  padded\t", ACCEPTED),
        # invalid UTF-8: overlong, a surrogate, cut off, beyond U+10FFFF
        ("%C0%A0", "invalid_header"),
        ("%ED%A0%80", "invalid_header"),
        ("%E2%82", "invalid_header"),
        ("%F4%90%80%80", "invalid_header"),
        ("%FF", "invalid_header"),
        # a bare percent sign, which MUST have been encoded
        ("100%", "invalid_header"),
        ("%4", "invalid_header"),
        ("%g1", "invalid_header"),
        # a quoted string that does not end where the value ends (RFC 7230, 3.2.6)
        ('"', "invalid_header"),
        ('"open', "invalid_header"),
        ('"a" b', "invalid_header"),
        ('"a\\"', "invalid_header"),
        # headers are printable ASCII, and so is what an attribute may hold after decoding
        ("caf\u00e9", "invalid_header"),
        ("%00", "invalid_attribute_value"),
        ("%0A", "invalid_attribute_value"),
        ("a\x00b", "invalid_attribute_value"),
        ("%EF%BF%BE", "invalid_attribute_value"),
    ],
)
def test_values_of_headers(value: str, expected: str) -> None:
    assert binary(("ce-ext", value)) == expected
    assert verdict(decode_nats([*HEADERS, ("ce-ext", value)], b"")) == expected


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        # http, 3: `application/cloudevents` by prefix and in any case decides the mode
        ([("CONTENT-TYPE", "APPLICATION/CLOUDEVENTS+JSON")], b"[]", "invalid_event"),
        ([("content-type", "application/cloudevents")], b"{}", "unsupported_media_type"),
        ([("content-type", "application/cloudevents+xml")], b"<a/>", "unsupported_media_type"),
        ([("content-type", "application/cloudevents-batch")], b"[]", "unsupported_media_type"),
        ([("content-type", "application/cloudevents-batch+avro")], b"[]", "unsupported_media_type"),
        # RFC 8259, 8.1: JSON between systems is UTF-8
        ([("content-type", "application/cloudevents+json; charset=utf-16")], b"{}", "unsupported_media_type"),
        ([("content-type", "application/cloudevents+json; charset=latin1")], b"{}", "unsupported_media_type"),
        ([("content-type", 'application/cloudevents-batch+json; charset="UTF-8"')], b"[]", ACCEPTED),
        ([("content-type", "application/cloudevents-batch+json;foo=bar")], b"[]", ACCEPTED),
        # http, 3.1.1: Content-Type is the content type; ce-datacontenttype must not stand beside it, nor alone
        ([*HEADERS, ("ce-datacontenttype", "text/plain")], b"a", "invalid_attribute_name"),
        (
            [*HEADERS, ("CE-DataContentType", "text/plain"), ("content-type", "text/plain")],
            b"a",
            "invalid_attribute_name",
        ),
        ([*HEADERS, ("content-type", "")], b"a", "invalid_content_type"),
        ([*HEADERS, ("content-type", "a/b"), ("Content-Type", "a/b")], b"a", "invalid_content_type"),
        # http, 3.1.3.1: header names are case-insensitive, so two spellings are one header sent twice
        ([*HEADERS, ("Ce-Subject", "a"), ("ce-subject", "a")], b"", "duplicate_attribute"),
        ([("ce_id", "1")], b"", "not_cloudevents"),
        # core: each required attribute, also when headers carry them
        ([("ce-id", "1")], b"", "missing_attribute"),
        ([*HEADERS[1:], ("ce-specversion", "1.0.2")], b"", "unsupported_specversion"),
        ([*HEADERS[:1], *HEADERS[2:], ("ce-id", "")], b"", "invalid_attribute_value"),
        ([*HEADERS, ("ce-time", "2018-04-05 17:31:00Z")], b"", "invalid_time"),
        ([*HEADERS, ("ce-sampledrate", "0")], b"", "invalid_attribute_value"),
        ([*HEADERS, ("ce-data_base64", "AA==")], b"", "invalid_attribute_name"),
        # json, 3.2, last example: declared JSON that is none makes the event invalid
        ([*HEADERS, ("content-type", "application/json")], b"{", "invalid_json"),
        ([*HEADERS, ("content-type", "application/json")], b'{"a":1,"a":1}', "invalid_json"),
        ([*HEADERS, ("content-type", "application/json")], b"\xff", "invalid_json"),
        ([*HEADERS, ("content-type", "application/json")], b"", ACCEPTED),
        ([*HEADERS, ("content-type", "application/octet-stream")], b"\xff{", ACCEPTED),
        ([*HEADERS], b"\xff{", ACCEPTED),
    ],
)
def test_messages_over_http(headers: list[tuple[str, str]], body: bytes, expected: str) -> None:
    assert verdict(decode_http(headers, body)) == expected


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        # nats, 3: structured when the content type says so or there are no headers at all, binary otherwise
        ([], orjson.dumps(MINIMAL), ACCEPTED),
        ([], b"{}", "missing_attribute"),
        ([("content-type", "Application/CloudEvents+json")], orjson.dumps(MINIMAL), ACCEPTED),
        ([("Nats-Msg-Id", "1")], orjson.dumps(MINIMAL), "not_cloudevents"),
        # nats, 3.1.3.1: unlike in HTTP the content type is an attribute header
        ([*HEADERS, ("ce-datacontenttype", "application/json")], b"{", "invalid_json"),
        ([*HEADERS, ("ce-datacontenttype", "json")], b"{}", "invalid_attribute_value"),
    ],
)
def test_messages_over_nats(headers: list[tuple[str, str]], body: bytes, expected: str) -> None:
    assert verdict(decode_nats(headers, body)) == expected


def test_an_event_of_64_kib_on_the_wire_is_accepted_in_every_mode() -> None:
    """core, Size Limits."""
    room = MAX_BYTES - len(orjson.dumps(MINIMAL | {"data": ""}))
    assert structured(data="x" * room) == ACCEPTED
    assert binary(("content-type", "text/plain"), body=b"x" * MAX_BYTES) == ACCEPTED
    assert text(f"[{orjson.dumps(MINIMAL | {'data': 'x' * room}).decode()}]", BATCH) == ACCEPTED
    assert structured(subject="x" * (room // 2), data="x" * (room // 2)) == ACCEPTED


@pytest.mark.parametrize(
    "question",
    [
        None,
        [],
        {},
        {"headers": {}},
        {"body_base64": ""},
        {"headers": {"a": 1}, "body_base64": ""},
        {"headers": [["a"]], "body_base64": ""},
        {"headers": ["ab"], "body_base64": ""},
        {"headers": "a: b", "body_base64": ""},
        {"headers": {}, "body_base64": "*"},
        {"headers": {}, "body_base64": 5},
        {"headers": {}, "body_base64": "", "transport": "amqp"},
    ],
)
def test_a_malformed_question_is_no_verdict(question: object) -> None:
    said = answer(question)
    assert said.keys() == {"error"}
    assert said["error"]["code"] == "bad_input"


def test_attributes_are_shown_as_they_were_sent() -> None:
    time = "2018-04-05t17:31:00.120000000+02:00"
    body = orjson.dumps([MINIMAL | {"time": time, "ext": True}, MINIMAL | {"data": None}])
    said = answer({"headers": [BATCH], "body_base64": b64encode(body).decode()})
    assert said["events"] == [MINIMAL | {"time": time, "ext": True}, MINIMAL | {"data": None}]
    said = answer({"headers": [*HEADERS, ("CE-Time", '"2018-04-05T17:31:00%5A"')], "body_base64": ""})
    assert said["events"] == [MINIMAL | {"time": "2018-04-05T17:31:00Z"}]


@pytest.mark.parametrize(
    ("headers", "transport", "accepted"),
    [
        ([], None, True),
        ([], "http", False),
        ([*HEADERS, ("CE-DataContentType", "application/cloudevents")], None, True),
        ([*HEADERS, ("ce-datacontenttype", "text/plain")], "http", False),
        ([*HEADERS, ("ce-datacontenttype", "text/plain"), ("Content-Type", "text/plain")], None, False),
        ([*HEADERS, ("ce-datacontenttype", "text/plain"), ("Content-Type", "text/plain")], "nats", True),
    ],
)
def test_what_only_nats_carries_need_not_be_called_nats(
    headers: list[tuple[str, str]], transport: str | None, accepted: bool
) -> None:
    question = {"headers": headers, "body_base64": b64encode(orjson.dumps(MINIMAL)).decode()}
    said = answer(question if transport is None else question | {"transport": transport})
    assert said["accepted"] is accepted
