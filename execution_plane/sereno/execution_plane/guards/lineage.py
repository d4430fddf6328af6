"""Lineage: the messages among the causes of an event, with the agents that they woke."""

from collections.abc import Iterable
from typing import NamedTuple

MAX_ANCESTORS = 64
"""How many a message keeps; an event with more is too deep."""


class Ancestor(NamedTuple):
    """A message among the causes of an event, and the agent that it woke."""

    message: str
    agent: str


def union(lineages: Iterable[tuple[Ancestor, ...]]) -> tuple[Ancestor, ...]:
    """All ancestors, each once, in the order in which they were met."""
    return tuple(dict.fromkeys(ancestor for lineage in lineages for ancestor in lineage))
