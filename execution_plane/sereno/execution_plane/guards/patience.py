"""Patience: how long an evaluator may fail, say the same no of the same data, or an expression be slow, before its
subscription is suspended.
"""

from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from sereno.execution_plane.guards.judgement import ErrorKind, EvaluationError, Judged
from sereno.execution_plane.guards.suspension import Cause

MOST_ERRORS: Mapping[ErrorKind, int] = {"auth": 3}
"""A refused key does not get better by asking; other errors may pass."""
DEFAULT_ERRORS = 5
MOST_UNCHANGED = 10
SLOW = timedelta(milliseconds=5)
"""An expression that takes longer counts against its subscription: the native evaluator cannot be stopped."""
MOST_SLOW = 3


class Patience(NamedTuple):
    """One row of a subscription: evaluator's errors in a row, equal noes about equal data in a row, and how often its
    expressions were slow.
    """

    errors: int = 0
    error: ErrorKind | None = None
    unchanged: int = 0
    digest: str | None = None
    slow: int = 0


class Tried(NamedTuple):
    """The patience after one more answer, and the cause of a suspension when it is at its end."""

    patience: Patience
    suspends: Cause | None = None
    tries: int = 0
    limit: int = 0


def tried(patience: Patience, answer: Judged | EvaluationError, data: Any) -> Tried:
    """What one more answer about this data does."""
    if isinstance(answer, EvaluationError):
        errors = patience.errors + 1
        limit = MOST_ERRORS.get(answer.kind, DEFAULT_ERRORS)
        after = patience._replace(errors=errors, error=answer.kind)
        return Tried(after, "errors" if errors >= limit else None, errors, limit)
    if answer.fires:
        return Tried(Patience(slow=patience.slow))
    digest = sha256(orjson.dumps(data, option=orjson.OPT_SORT_KEYS, default=str)).hexdigest()
    unchanged = patience.unchanged + 1 if digest == patience.digest else 1
    after = Patience(unchanged=unchanged, digest=digest, slow=patience.slow)
    return Tried(after, "no_change" if unchanged >= MOST_UNCHANGED else None, unchanged, MOST_UNCHANGED)


def evaluated(patience: Patience, took: timedelta) -> Tried:
    """What it does that the expressions of a subscription took so long for one event; a shell with a clock asks it."""
    if took <= SLOW:
        return Tried(patience)
    after = patience._replace(slow=patience.slow + 1)
    return Tried(after, "expression_cost" if after.slow >= MOST_SLOW else None, after.slow, MOST_SLOW)
