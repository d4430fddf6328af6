"""Genealogy: the chain an event belongs to, its cause, and its place in the chain."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Genealogy:
    """Correlation (first event of the chain), causation (the direct cause) and hops: 1 + the most hops among the causes."""

    correlationid: str
    causationid: str | None
    hops: int


def root(receiptid: str) -> Genealogy:
    """The genealogy of an event that nothing of ours caused: it is its own first event."""
    return Genealogy(correlationid=receiptid, causationid=None, hops=1)


def caused_by(causationid: str, causes: Sequence[Genealogy]) -> Genealogy:
    """The genealogy of what a message or event caused: the chain of its deepest cause, one hop further."""
    if not causes:
        raise ValueError("something caused by nothing is a root")
    deepest = max(causes, key=lambda cause: cause.hops)
    return Genealogy(deepest.correlationid, causationid, deepest.hops + 1)
