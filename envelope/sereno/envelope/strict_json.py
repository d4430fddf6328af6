"""Strict JSON: what two parsers could read differently, or we could not write back, is refused.

Most texts take the quick way: one fast parser, and a proof that it read what the strict one would have read.
Whatever the proof does not cover goes the strict way, which also finds the words of a refusal.
"""

import json
import math
from collections.abc import Sequence

import orjson

from sereno.envelope.rejection import Rejected

_LONGEST_INTEGER = 20
# From nineteen digits on an integer may leave 64 bits, where the fast parser turns it into a double.
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * 19


def parse(body: bytes, what: str) -> object:
    """The value of a UTF-8 JSON text (RFC 8259), or Rejected; `what` names it in the message.

    Refused besides bad syntax: duplicate members, NaN and infinities, integers beyond 64 bits, numbers that
    overflow a double, lone surrogates, and nesting deeper than about 240.
    """
    try:
        value = orjson.loads(body)
        written = orjson.dumps(_wrapped(value))
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return parse_strictly(body, what)
    if _kept_every_member(body, written) and _LONG_NUMBER not in body.translate(_DIGITS_TO_ZERO):
        return value
    return parse_strictly(body, what)


def _kept_every_member(body: bytes, written: bytes) -> bool:
    r"""Whether no member was dropped as a duplicate; False also where that cannot be told.

    Every member has one colon of its own, and strings keep theirs unless `\u003a` spells them: a dropped member
    leaves fewer colons in what was written than in what was read.
    """
    if b"\\" in body and b"\\u003" in body:
        return False
    return body.count(b":") == written.count(b":")


def parse_strictly(body: bytes, what: str) -> object:
    """The same as `parse`, slowly."""
    try:
        value = _DECODER.decode(body.decode("utf-8"))
        orjson.dumps(_wrapped(value))
    except UnicodeDecodeError as error:
        return Rejected("invalid_json", f"{what} is not UTF-8 at byte {error.start}")
    except RecursionError:
        return Rejected("invalid_json", f"{what} is nested too deeply")
    except json.JSONDecodeError as error:
        return Rejected("invalid_json", f"{what} is not valid JSON: {error.msg} at character {error.pos}")
    except orjson.JSONEncodeError as error:
        return Rejected("invalid_json", f"{what} cannot be kept as it is: {error}")
    except ValueError as error:
        return Rejected("invalid_json", f"{what} {error}")
    return value


def _wrapped(value: object) -> object:
    # orjson writes 254 levels; eight stay free for the batch, the message and the rows that hold the value.
    return [[[[[[[[value]]]]]]]]


def _members(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"has the member {twice!r} twice")
    return members


def _real(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("has a number too large for a double; send it as a string")
    return number


def _integer(digits: str) -> int:
    # Python refuses to read thousands of digits, with a sentence about its own settings.
    if len(digits) > _LONGEST_INTEGER:
        raise ValueError("has an integer beyond 64 bits; send it as a string")
    return int(digits)


def _constant(name: str) -> object:
    raise ValueError(f"has {name}, which is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_members, parse_float=_real, parse_int=_integer, parse_constant=_constant
)
