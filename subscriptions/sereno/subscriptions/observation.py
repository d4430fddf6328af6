"""Which polled sources are the same: by what is asked, by how items are told apart, and by how they are shown.

Subscriptions of one operation share its observation; of one reading, what is known; of one view, the very signal.
"""

import hashlib
from typing import Any

import rfc8785

from sereno.subscriptions.models.source import McpSource

_DIGITS = 16


def operation(source: McpSource, *, account: str, subscription: str) -> str:
    """The identity of what is asked of a server, as whom; sixteen hexadecimal digits."""
    return _digest(["operation", account, *_asked(source, subscription)])


def reading(source: McpSource, *, account: str, subscription: str) -> str:
    """The identity of an operation's items: what is known is known for all who tell them apart alike.

    Who asked for items that were there before has a memory of its own: others have had them.
    """
    return _digest(
        ["reading", account, *_asked(source, subscription), *_told_apart(source), _own(source, subscription)]
    )


def view(source: McpSource, *, subscription: str) -> str:
    """The identity of the signals of a source, which is how a subscription knows its own."""
    shown = [source.time, list(source.project)]
    return _digest(
        [
            "view",
            *_asked(source, subscription),
            *_told_apart(source),
            *shown,
            _own(source, subscription),
        ]
    )


def call(source: McpSource) -> str:
    """The identity of tool and arguments alone: by it an item is the same whatever a subscription reads of it."""
    return _digest(["call", source.connector, source.tool, source.arguments])


def _asked(source: McpSource, subscription: str) -> list[Any]:
    cursor = None if source.cursor is None else source.cursor.model_dump(mode="json")
    pages = None if source.pages is None else source.pages.model_dump(mode="json")
    # A cursor that others moved leads past what somebody wants from the beginning.
    alone = None if cursor is None else _own(source, subscription)
    return [source.connector, source.tool, source.arguments, cursor, pages, alone]


def _told_apart(source: McpSource) -> list[Any]:
    return [source.items, source.id, source.version]


def _own(source: McpSource, subscription: str) -> list[Any] | None:
    return None if source.first == "seed" else [subscription, source.first.backfill]


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(rfc8785.dumps(parts)).hexdigest()[:_DIGITS]
