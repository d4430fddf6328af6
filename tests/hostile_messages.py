"""Messages as an attacker bends them: the shared cases with bytes changed, and what must hold of each answer."""

import json
from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st

from sereno.envelope import strict_json
from sereno.envelope.decode import Decoded, Rejected, decode_http, decode_nats
from sereno.envelope.encode import dumps_batch

Headers = list[tuple[str, str]]
Message = tuple[Headers, bytes]
LIMIT = 65_536
_CASES = json.loads((Path(__file__).parent / "cases" / "cloudevents.json").read_text(encoding="utf-8"))
_SEEDS: list[Message] = [
    ([(name, value) for name, value in case["request"]["headers"]], case["request"]["body"].encode())
    for case in _CASES
    if len(case["request"]["body"]) < LIMIT // 2
]
_HEADERS = sorted({header for headers, _ in _SEEDS for header in headers})
# What parsers trip over.
_SCRAPS = (
    b'"', b"\\", b"{", b"}", b"[", b"]", b":", b",", b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\\u003a", b"\\ud800",
    b'"id":"2",', b"1e400", b"-0", b"NaN", b"99999999999999999999", b"null", b"[" * 300, b'{"a":' * 200, b"%", b"%C0%A0",
    b";charset=utf-16", b"data_base64", b"+json", b"2016-12-31T23:59:60Z", b" ", b"\r\n",
)  # fmt: skip
_PIECES = st.sampled_from(_SCRAPS) | st.binary(max_size=6)
_PLACES = st.floats(0, 1, allow_nan=False)
_EDITS = st.lists(st.tuples(_PLACES, st.integers(0, 8), _PIECES), max_size=5)


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """A case with its body and some of its headers bent, or headers and a body of its own."""
    headers, body = draw(st.sampled_from(_SEEDS))
    bent = _bent(body, draw(_EDITS))
    if draw(st.booleans()):
        headers = [(name, _text(_bent(value.encode(), draw(_EDITS)))) for name, value in headers]
    if draw(st.booleans()):
        headers = headers + draw(st.lists(st.sampled_from(_HEADERS), max_size=2))
    return headers, bent


def _bent(value: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    for place, dropped, piece in edits:
        at = int(place * len(value))
        value = value[:at] + piece + value[at + dropped :]
    return value


def _text(value: bytes) -> str:
    return value.decode("latin-1")


def hold(message: Message) -> None:
    """Fails unless both transports answer with a value, and what was accepted is what a strict reader reads again."""
    headers, body = message
    for decode in (decode_http, decode_nats):
        _holds(decode, headers, body)
    assert repr(strict_json.parse(body, "data")) == repr(strict_json.parse_strictly(body, "data"))


def _holds(decode: Callable[[Headers, bytes], Decoded | Rejected], headers: Headers, body: bytes) -> None:
    answer = decode(headers, body)
    if isinstance(answer, Rejected):
        assert answer.code.isidentifier()
        assert answer.message
        return
    again = decode_http([("content-type", "application/cloudevents-batch+json")], dumps_batch(answer.events))
    assert isinstance(again, Decoded), again
    assert repr(again.events) == repr(answer.events)
