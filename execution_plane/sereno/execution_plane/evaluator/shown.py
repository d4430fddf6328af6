"""What a model is shown of an item: its data without characters that people do not see, as one line of JSON."""

import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

# Blank or joining letters that Unicode does not count among its format characters.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_UNSEEN = frozenset({"Cf", "Cc", "Co", "Cs", "Cn"})
_KEPT = frozenset("\n\t")


def visible(text: str) -> str:
    """The text without what people do not see: format, control, private and unassigned characters, tags, variation
    selectors and blank letters (Unicode Standard Annex 44, general categories).
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(character for character in text if _is_visible(character))


@lru_cache(maxsize=8192)
def _is_visible(character: str) -> bool:
    if character in _KEPT:
        return True
    if character in _BLANK or "\ufe00" <= character <= "\ufe0f" or "\U000e0000" <= character <= "\U000e0fff":
        return False
    return unicodedata.category(character) not in _UNSEEN


def cleaned(data: Any) -> Any:
    """The same data with every text in it made visible, names of members too; members in one order, whoever stored it."""
    if isinstance(data, str):
        return visible(data)
    if isinstance(data, Mapping):
        members = ((visible(str(name)), value) for name, value in data.items())
        return {name: cleaned(value) for name, value in sorted(members, key=lambda member: member[0])}
    if isinstance(data, list | tuple):
        return [cleaned(value) for value in data]
    return data


def as_line(data: Any) -> str:
    """Cleaned data as one line of JSON: what an outsider wrote cannot begin a line of its own."""
    return orjson.dumps(data, default=str).decode()


def texts(data: Any) -> Iterator[str]:
    """Every text in the data: what a pattern is looked for in."""
    pending = [data]
    while pending:
        current = pending.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, Mapping):
            pending.extend([*current.keys(), *current.values()])
        elif isinstance(current, list | tuple):
            pending.extend(current)
