"""Puts the text of calendar files where a declaration names them: `ics: FILE` of a time source."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import yaml

_MENTIONED = re.compile(r"\bics[\"']?\s*:")
_SEPARATOR = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_PATH = ("spec", "source", "time", "ics")
_PLAIN = re.compile(r"[ !#-\[\]-~]")


def inline_calendars(text: str, read: Callable[[str], str]) -> str:
    """The same YAML with each file name that stands for a calendar replaced by what `read` answers for it.

    Every line keeps its number. A document that is no YAML stays as it is: who reads it next says why.
    """
    if not _MENTIONED.search(text):
        return text
    starts = [0, *(found.start() for found in _SEPARATOR.finditer(text) if found.start()), len(text)]
    return "".join(_inlined(text[begin:end], read) for begin, end in pairwise(starts))


def _inlined(text: str, read: Callable[[str], str]) -> str:
    if not _MENTIONED.search(text):
        return text
    try:
        roots = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError):
        return text
    for node in sorted(_named(roots), key=lambda node: node.start_mark.index, reverse=True):
        calendar = _quoted(read(node.value.strip()))
        text = text[: node.start_mark.index] + calendar + text[node.end_mark.index :]
    return text


def _named(roots: Iterable[yaml.Node | None]) -> Iterator[yaml.ScalarNode]:
    for root in roots:
        node = root
        for name in _PATH:
            node = _member(node, name)
        if isinstance(node, yaml.ScalarNode) and node.value.strip() and "BEGIN:" not in node.value.upper():
            yield node


def _member(node: yaml.Node | None, name: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for key, value in node.value if getattr(key, "value", None) == name), None)


def _quoted(text: str) -> str:
    """A double-quoted scalar on one line; whatever could be read in another way is escaped."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if _PLAIN.fullmatch(character):
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - four digits or eight
