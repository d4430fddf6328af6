"""The answer of a tool, as the expressions of a source see it (pure)."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_FIELD = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,63}):(?: (.*))?")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool answered: its text, and its structured content where there is any."""

    text: str
    structured: Any = None

    @property
    def variables(self) -> Mapping[str, Any]:
        """`result`: the structured content, or the text as JSON; `text`; its `lines`; its `records`."""
        lines = self.text.splitlines()
        return {
            "result": self.structured if self.structured is not None else _as_json(self.text),
            "text": self.text,
            "lines": lines,
            "records": records(lines),
        }


def _as_json(text: str) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict | list) else {}


def records(lines: Sequence[str]) -> list[dict[str, str]]:
    """What lines of `Name: value` tell: a record begins with each line named as the first one was.

    It must also go on as the first one did, so that one such line inside a value begins none. Names are in lower case; a
    line without a name goes on with the value before it. What stands before the first named line is no record.
    """
    found: list[dict[str, str]] = []
    first = second = name = ""
    for place, line in enumerate(lines):
        matched = _FIELD.fullmatch(line)
        if matched is None:
            if found:
                found[-1][name] += "\n" + line
            continue
        name, value = matched[1].lower(), matched[2] or ""
        following = _name(lines, place + 1)
        if not first:
            first, second = name, following
        if name == first and following == second:
            found.append({})
        # The first of two lines of one name counts: what follows is what somebody wrote into a value.
        if name in found[-1]:
            name = next(reversed(found[-1]))
            found[-1][name] += "\n" + line
        else:
            found[-1][name] = value
    return [{key: text.rstrip() for key, text in record.items()} for record in found]


def _name(lines: Sequence[str], place: int) -> str:
    matched = _FIELD.fullmatch(lines[place]) if place < len(lines) else None
    return "" if matched is None else matched[1].lower()
