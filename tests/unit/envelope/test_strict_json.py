"""JSON that two parsers could read differently never gets in."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.envelope.rejection import Rejected
from sereno.envelope.strict_json import parse


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
