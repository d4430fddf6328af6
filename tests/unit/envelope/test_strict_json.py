"""JSON that two parsers could read differently never gets in."""

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sereno.envelope.rejection import Rejected
from sereno.envelope.strict_json import parse, parse_strictly

# JSON as an adversary writes it: equal names under other spellings, colons inside strings, numbers at the borders.
NAMES = st.sampled_from(
    ['"a"', '"b:"', '"\\u0061"', '"a\\u003a"', '"a:"', '"\\u003A"', '""', '"\\ud800"', '"\\u00e9"', '"é"']
)
NUMBERS = st.sampled_from(
    [
        "0",
        "-0",
        "-0.0",
        "1e5",
        "1E+2",
        "1e400",
        "1e-400",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "-9223372036854775809",
        "9999999999999999999999999",
        "0.1234567890123456789",
        "1e19",
        "01",
        "1.",
        ".5",
        "+1",
        "NaN",
        "-Infinity",
        "123456789012345678.9e3",
    ]
)
SCALARS = (
    NAMES
    | NUMBERS
    | st.sampled_from(["true", "false", "null", '"\t"', '"\\ud83d\\ude00"', '"\ufeff"', "\x00"])
)
SPACES = st.sampled_from(["", "", "", " ", "\n\t", "\r ", "\u00a0", "\ufeff"])
TEXTS = st.recursive(
    st.builds("{}{}{}".format, SPACES, SCALARS, SPACES),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[" + ",".join(items) + "]")
        | st.lists(st.builds("{}{}:{}".format, NAMES, SPACES, inner), max_size=4).map(
            lambda members: "{" + ",".join(members) + "}"
        )
    ),
    max_leaves=12,
)
BODIES = (
    TEXTS.map(str.encode)
    | st.binary(max_size=30)
    | st.builds(lambda a, b: a[: len(a) // 2] + b, TEXTS.map(str.encode), st.binary(max_size=3))
)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b'{"a":1,"b":{"c":1,"c":2}}', "has the member 'c' twice"),
        (b"NaN", "has NaN, which is not JSON"),
        (b"[-Infinity]", "has -Infinity, which is not JSON"),
        (b"1e400", "number too large for a double"),
        (b"18446744073709551616", "Integer exceeds 64-bit range"),
        (b"1" * 5000, "an integer beyond 64 bits"),
        (b"-" + b"1" * 5000, "an integer beyond 64 bits"),
        (b'"\\ud800"', "surrogates not allowed"),
        (b'{"\\ud800":1}', "surrogates not allowed"),
        (b"[" * 250 + b"]" * 250, "Recursion limit"),
        (b"[" * 200_000, "nested too deeply"),
        (b"\xc0\xa0", "is not UTF-8 at byte 0"),
        (b"{} {}", "Extra data"),
        (b"{'a':1}", "Expecting property name"),
        (b"01", "Extra data"),
    ],
)
def test_refused_with_the_reason(text: bytes, sentence: str) -> None:
    answer = parse(text, "data")
    assert isinstance(answer, Rejected)
    assert answer.code == "invalid_json"
    assert answer.message.startswith("data ")
    assert sentence in answer.message


@given(st.binary(max_size=30))
def test_it_answers_a_value_or_a_refusal_and_whatever_it_takes_can_be_written(body: bytes) -> None:
    answer = parse(body, "data")
    if not isinstance(answer, Rejected):
        assert orjson.loads(orjson.dumps(answer)) == answer


@settings(max_examples=400)
@given(BODIES)
def test_the_quick_way_takes_exactly_what_the_strict_way_takes(body: bytes) -> None:
    quick, strict = parse(body, "data"), parse_strictly(body, "data")
    assert repr(quick) == repr(strict)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1,"a":1}',
        b'{"a":"\\u003a","a:":1,"a":2}',
        b'{"a":{"b":":"},"c":[{"d":1,"\\u0064":2}]}',
        b'[{"":0,"":0}]',
        b'{"a":":","a":1}',
    ],
)
def test_a_duplicate_is_found_wherever_it_hides(body: bytes) -> None:
    answer = parse(body, "data")
    assert isinstance(answer, Rejected)
    assert "twice" in answer.message
