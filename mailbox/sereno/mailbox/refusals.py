"""What is refused before anything is asked of the database: a ValueError `field: expected …, got …`."""

import re
from collections.abc import Sequence

import orjson

from sereno.mailbox.lease_items import EmitItem, ParkItem

MAX_JSON_BYTES = 65_536
PLATFORM_TYPES = "sereno."
MILESTONE = "sereno.platform.milestone"
"""The one type of the platform that an agent speaks for: it alone knows when it has come so far."""
MAX_REMINDER_SECONDS = 31 * 86_400.0
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def expect(holds: bool, message: str) -> None:
    """Refuse with this sentence unless it holds."""
    if not holds:
        raise ValueError(message)


def expect_tokens(tokens: Sequence[int], most: int) -> None:
    """Each a token as a claim gives it, none twice."""
    expect(1 <= len(tokens) <= most, f"items: expected 1 to {most}, got {len(tokens)}")
    if min(tokens) > 0 and max(tokens) < 1 << 63 and len(set(tokens)) == len(tokens):
        return
    seen: set[int] = set()
    for place, token in enumerate(tokens):
        where = f"items[{place}].token"
        expect(0 < token < 1 << 63, f"{where}: expected a token as a claim gave it, got {token}")
        expect(token not in seen, f"{where}: {token} stands twice in one call")
        seen.add(token)


def expect_json(field: str, value: object) -> str | None:
    """The value as JSON text; None for None. At most 64 KiB, without NUL, which PostgreSQL cannot keep."""
    if value is None:
        return None
    try:
        text = orjson.dumps(value)
    except TypeError as fault:
        raise ValueError(f"{field}: expected JSON in UTF-8: {fault}") from fault
    # Text counts as it was written: what JSON escapes in it, such as line ends, is not the worker's.
    size = len(value.encode()) if isinstance(value, str) else len(text)
    expect(size <= MAX_JSON_BYTES, f"{field}: expected at most {MAX_JSON_BYTES} bytes, got {size}")
    expect(
        _NUL.search(text) is None,
        f"{field}: expected text without the NUL character, which PostgreSQL cannot keep",
    )
    return text.decode()


def expect_park(place: int, item: ParkItem) -> None:
    """What is waited for fits what it says."""
    where = f"items[{place}]"
    kinds = ("approval", "question", "dependency")
    expect(item.waiting_for in kinds, f"{where}.waiting_for: expected one of {', '.join(kinds)}")
    expect(
        (item.dependency is not None) == (item.waiting_for == "dependency"),
        f"{where}.dependency: expected the message to wait for, with waiting_for: dependency and only there",
    )
    expect(
        item.waiting_for != "question" or bool(item.question),
        f"{where}.question: expected the question to answer",
    )
    expect(
        item.deadline is None or item.deadline.tzinfo is not None,
        f"{where}.deadline: expected a time with a zone",
    )
    seconds = item.remind_after_seconds
    expect(
        seconds is None or 1 <= seconds <= MAX_REMINDER_SECONDS,
        f"{where}.remind_after_seconds: expected 1 to {MAX_REMINDER_SECONDS:.0f}, got {seconds}",
    )


def expect_emitted(place: int, item: EmitItem) -> None:
    """A type of the agent's own: what the platform reports, the platform alone says."""
    where = f"items[{place}].type"
    expect(bool(item.type.strip()), f"{where}: expected a type, got nothing")
    expect(
        not item.type.lower().startswith(PLATFORM_TYPES) or item.type == MILESTONE,
        f"{where}: expected a type of your own, or {MILESTONE}; only the platform emits {item.type}",
    )
