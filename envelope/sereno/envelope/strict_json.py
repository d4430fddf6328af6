"""Strict JSON: what two parsers could read differently, or we could not write back, is refused."""

import json
import math
from collections.abc import Sequence

from sereno.envelope.rejection import Rejected

MAX_DEPTH = 64
_INT_MIN, _INT_MAX = -(1 << 63), (1 << 64) - 1


def parse(body: bytes, what: str) -> object:
    """The value of a UTF-8 JSON text (RFC 8259), or Rejected; `what` names it in the message.

    Refused besides bad syntax: duplicate members, NaN and infinities, integers beyond 64 bits, numbers that
    overflow, lone surrogates, and nesting deeper than 64.
    """
    try:
        text = body.decode("utf-8")
        text.encode("utf-8")
        value = _DECODER.decode(text)
    except _Refusal as refusal:
        return Rejected("invalid_json", f"{what} {refusal}")
    except UnicodeDecodeError as error:
        return Rejected("invalid_json", f"{what} is not UTF-8 at byte {error.start}")
    except json.JSONDecodeError as error:
        return Rejected("invalid_json", f"{what} is not valid JSON: {error.msg} at character {error.pos}")
    except RecursionError:
        return Rejected("invalid_json", f"{what} is nested deeper than {MAX_DEPTH}")
    fault = _unwritable(value)
    return value if fault is None else Rejected("invalid_json", f"{what} {fault}")


class _Refusal(Exception):  # noqa: N818 - control flow out of the parser's hooks, never seen outside
    pass


def _members(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Refusal(f"has the member {twice!r} twice")
    return members


def _integer(digits: str) -> int:
    if len(digits) > len(str(_INT_MIN)) or not _INT_MIN <= (number := int(digits)) <= _INT_MAX:
        raise _Refusal("has an integer that does not fit 64 bits; send it as a string")
    return number


def _real(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _Refusal("has a number too large for a double; send it as a string")
    return number


def _constant(name: str) -> object:
    raise _Refusal(f"has {name}, which is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_members, parse_int=_integer, parse_float=_real, parse_constant=_constant
)


def _unwritable(value: object) -> str | None:
    """Why the value could not be written back as JSON, or None."""
    pending: list[tuple[object, int]] = [(value, 1)]
    while pending:
        item, depth = pending.pop()
        if isinstance(item, str):
            if not item.isascii() and any("\ud800" <= char <= "\udfff" for char in item):
                return "has a lone surrogate, which is no character"
        elif isinstance(item, dict | list):
            if depth > MAX_DEPTH:
                return f"is nested deeper than {MAX_DEPTH}"
            children = [*item.keys(), *item.values()] if isinstance(item, dict) else item
            pending.extend((child, depth + 1) for child in children)
    return None
