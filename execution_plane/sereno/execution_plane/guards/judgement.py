"""Judgement: an evaluator's answer read strictly; what is not a verdict is an evaluation error, and never a wake-up."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

ErrorKind = Literal[
    "bad_json",
    "truncated",
    "wrong_type",
    "missing_field",
    "confidence",
    "evidence",
    "refusal",
    "timeout",
    "budget",
    "auth",
    "unavailable",
    "data",
]
TOLD: frozenset[ErrorKind] = frozenset({"refusal", "timeout", "budget", "auth", "unavailable", "data"})
"""What the caller of an evaluator says itself; the others are found in its answer."""
MAX_QUOTES = 5
LONGEST_QUOTE = 500


class Evidence(NamedTuple):
    """A quote that stands literally in an item."""

    item: str
    quote: str

    def as_json(self) -> dict[str, str]:
        """As it travels: with its digest, and marked as what an outsider wrote."""
        digest = hashlib.sha256(self.quote.encode()).hexdigest()
        return {"item": self.item, "quote": self.quote, "sha256": digest, "trust": "untrusted"}


class Judged(NamedTuple):
    """A verdict: judged, not verified."""

    fires: bool
    confidence: float
    evidence: tuple[Evidence, ...] = ()


class EvaluationError(NamedTuple):
    """Why there is no verdict."""

    kind: ErrorKind
    detail: str


def read(answer: str, items: Mapping[str, Any]) -> Judged | EvaluationError:
    """The verdict in the text that an evaluator answered about these items (data by item id)."""
    document = decode(answer)
    return document if isinstance(document, EvaluationError) else judge(document, items)


def decode(answer: str) -> Mapping[str, Any] | EvaluationError:
    """The one JSON object in an answer; a member written twice says two things and is none."""
    try:
        document = json.loads(answer, object_pairs_hook=_members)
    except json.JSONDecodeError as fault:
        cut = fault.pos >= len(answer.rstrip()) or "Unterminated" in fault.msg
        kind: ErrorKind = "truncated" if cut and answer.strip() else "bad_json"
        return EvaluationError(kind, f"{fault.msg} at character {fault.pos}")
    except RecursionError:
        return EvaluationError("bad_json", "nested too deeply")
    except _TwiceError as fault:
        return EvaluationError("bad_json", f"{fault} is written twice")
    if not isinstance(document, dict):
        return EvaluationError("wrong_type", "expected a JSON object")
    return document


class _TwiceError(Exception):
    """A member of an object that is written twice."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        raise _TwiceError(next(name for name in names if names.count(name) > 1)[:64])
    return members


def judge(document: Mapping[str, Any], items: Mapping[str, Any]) -> Judged | EvaluationError:
    """The verdict in a decoded answer about these items; every quote must stand literally in its item."""
    for name in ("fires", "confidence", "evidence"):
        if name not in document:
            return EvaluationError("missing_field", f"{name} is missing")
    fires, confidence = document["fires"], document["confidence"]
    if not isinstance(fires, bool):
        return EvaluationError("wrong_type", f"fires: expected true or false; found {type(fires).__name__}")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        return EvaluationError(
            "wrong_type", f"confidence: expected a number; found {type(confidence).__name__}"
        )
    if not 0 <= confidence <= 1:
        return EvaluationError("confidence", f"confidence: expected 0 to 1; found {confidence}")
    evidence = _evidence(document["evidence"], items)
    if isinstance(evidence, EvaluationError):
        return evidence
    return Judged(fires, float(confidence), evidence)


def _evidence(written: Any, items: Mapping[str, Any]) -> tuple[Evidence, ...] | EvaluationError:
    if not isinstance(written, list):
        return EvaluationError("wrong_type", f"evidence: expected a list; found {type(written).__name__}")
    found = []
    for place, one in enumerate(written):
        item, quote = (one.get("item"), one.get("quote")) if isinstance(one, Mapping) else (None, None)
        if not isinstance(item, str) or not isinstance(quote, str) or not quote:
            return EvaluationError("evidence", f"evidence {place}: expected item and quote as text")
        if item not in items or not any(quote in text for text in _texts(items[item])):
            return EvaluationError("evidence", f"evidence {place}: the quote does not stand in {item}")
        found.append(Evidence(item, quote[:LONGEST_QUOTE]))
    return tuple(found[:MAX_QUOTES])


def _texts(value: Any) -> Iterator[str]:
    """Every text in the data of an item, then all of it as JSON: as a model is shown it, and with blanks between."""
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, Mapping):
            pending.extend(current.values())
        elif isinstance(current, list | tuple):
            pending.extend(current)
    yield json.dumps(value, ensure_ascii=False, default=str, separators=(",", ":"))
    yield json.dumps(value, ensure_ascii=False, default=str)
