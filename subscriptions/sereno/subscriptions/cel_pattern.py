"""Bounds the patterns that expressions match: matching is linear in the text, but a pattern can be made enormous."""

import math
import re
from collections.abc import Sequence

from sereno.subscriptions.cel_native import native

MAX_PATTERN = 200
# Nested counts multiply: (a{1,100}){1,100} is 10,000 copies and took 14 s on 60,000 characters.
MAX_COPIES = 100

_COUNTED = re.compile(r"\{([0-9]+)(?:,([0-9]*))?\}")


def read_pattern(literal: str) -> str:
    """The pattern in a CEL string literal; ValueError says what is wrong with it."""
    if len(literal) > MAX_PATTERN:
        raise ValueError(f"expected a pattern of at most {MAX_PATTERN} characters")
    pattern = native().evaluate(literal)
    if not isinstance(pattern, str):
        raise ValueError("expected the pattern as text")  # noqa: TRY004 - what people write is a value
    return pattern


def check_copies(patterns: Sequence[str]) -> None:
    """ValueError when the counted repetitions of all these patterns, multiplied, repeat something too often."""
    pairs = (pair for pattern in patterns for pair in _COUNTED.findall(pattern))
    if math.prod(max(1, *(int(count) for count in pair if count)) for pair in pairs) > MAX_COPIES:
        raise ValueError(f"expected repetitions that multiply to at most {MAX_COPIES} in all patterns")


def check_syntax(literal: str) -> None:
    """ValueError when the literal's pattern is no regular expression."""
    try:
        native().evaluate(f"''.matches({literal})")
    except (ValueError, RuntimeError):
        raise ValueError("expected a regular expression in RE2 syntax") from None
