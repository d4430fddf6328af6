"""Bounds the patterns that expressions match: matching is linear in the text, but a pattern can be made enormous."""

import math
import re
from collections.abc import Sequence

import cel

MAX_PATTERN = 200
# Nested counts multiply: (a{1,100}){1,100} is 10,000 copies and took 14 s on 60,000 characters.
MAX_COPIES = 100

_COUNTED = re.compile(r"\{[0-9]*,?([0-9]+),?\}")


def check_pattern(literal: str) -> None:
    """ValueError says what is wrong with a pattern, given as a CEL string literal."""
    if len(literal) > MAX_PATTERN:
        raise ValueError(f"expected a pattern of at most {MAX_PATTERN} characters")
    try:
        cel.evaluate(f"''.matches({literal})")
    except (ValueError, RuntimeError):
        raise ValueError("expected a regular expression in RE2 syntax") from None


def copies_of(literals: Sequence[str]) -> int:
    """How often the counted repetitions of all these patterns, multiplied, may repeat something."""
    counts = (int(count) for literal in literals for count in _COUNTED.findall(literal))
    return math.prod(max(count, 1) for count in counts)
