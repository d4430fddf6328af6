"""Keys that a subscription takes from its events, to put like with like: `batch.by` and `serial_by`."""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from sereno.subscriptions.expression import FilterFault, compile_expression
from sereno.subscriptions.filters import of

_PATH = re.compile(r"[a-z][a-z0-9]{0,19}(?:\.[A-Za-z_][A-Za-z0-9_]{0,63}){0,8}")
_LONGEST = 256

KeyOf = Callable[[Mapping[str, Any]], str | None]
"""The key of an event, given as its flat CloudEvents mapping; None when the event lacks what it is made of. Raises FilterFault when it cannot be made."""


def compile_key(source: str) -> KeyOf:
    """The key that a CEL expression such as `data.customer` names; ValueError names the position of what is wrong.

    Text, numbers and truth values make a key; a longer one than 256 characters stands there as its SHA-256.
    """
    expression = compile_expression(source)
    if _PATH.fullmatch(source):
        # By far the most common, and a walk through the event needs no evaluator.
        return _of_path(tuple(source.split(".")))
    return lambda event: _text(expression.value(of(event).event), source)


def _of_path(steps: tuple[str, ...]) -> KeyOf:
    source = ".".join(steps)

    def key(event: Mapping[str, Any]) -> str | None:
        value: Any = event
        try:
            for step in steps:
                value = value[step]
        except (KeyError, TypeError, IndexError):
            return None
        return value if type(value) is str and len(value) <= _LONGEST else _text(value, source)

    return key


def _text(value: Any, source: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, str | int | float):
        text = str(value)
    else:
        found = type(value).__name__
        raise FilterFault(f"key {source!r}: expected text, a number or a truth value; found {found}")
    return text if len(text) <= _LONGEST else "sha256:" + hashlib.sha256(text.encode()).hexdigest()
