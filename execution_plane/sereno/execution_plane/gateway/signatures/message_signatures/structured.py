"""Structured fields (RFC 9651), read strictly: a member or parameter that stands twice is malformed here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from http_sf import StructuredFieldError, parse, ser
from http_sf.innerlist import ser_innerlist

Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Item:
    """A value with its parameters."""

    value: Any
    parameters: Parameters

    @property
    def text(self) -> str:
        """As it is written in a signature base."""
        return ser((self.value, dict(self.parameters)))


@dataclass(frozen=True, slots=True)
class InnerList:
    """Items in brackets, with the parameters of the whole."""

    items: tuple[Item, ...]
    parameters: Parameters

    @property
    def text(self) -> str:
        """As it is written in a signature base."""
        items: list[Any] = [(item.value, dict(item.parameters)) for item in self.items]
        return ser_innerlist((items, dict(self.parameters)))


def dictionary(text: str) -> Mapping[str, Item | InnerList] | None:
    """The members of a dictionary, or None where the text is none."""
    try:
        found = parse(text.encode("ascii"), tltype="dictionary", on_duplicate_key=_refuse)
    except (StructuredFieldError, UnicodeEncodeError, ValueError):
        return None
    return {name: _member(value) for name, value in found.items()} if isinstance(found, dict) else None


def reserialised(text: str, kind: str) -> str | None:
    """The text of a field of this kind (dictionary, list or item) in its one strict spelling, or None."""
    try:
        return ser(parse(text.encode("ascii"), tltype=kind, on_duplicate_key=_refuse))
    except (StructuredFieldError, UnicodeEncodeError, ValueError):
        return None


def _member(value: Any) -> Item | InnerList:
    if not isinstance(value, tuple):
        return Item(value, {})
    inside, parameters = value
    if not isinstance(inside, list):
        return Item(inside, parameters)
    return InnerList(tuple(_item(one) for one in inside), parameters)


def _item(value: Any) -> Item:
    return Item(*value) if isinstance(value, tuple) else Item(value, {})


def _refuse(name: str, where: str) -> None:
    raise ValueError(f"{name} stands twice in a {where}")
