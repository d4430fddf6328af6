"""A rehearsal: subscriptions over events in virtual time, from the first line to the last."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain

from sereno.execution_plane.simulate.control import run
from sereno.execution_plane.simulate.declared import declare
from sereno.execution_plane.simulate.lines import Line, read
from sereno.execution_plane.simulate.said import Output
from sereno.execution_plane.simulate.world import World
from sereno.subscriptions.documents import Document
from sereno.subscriptions.models.metadata import DEFAULT_TENANT
from sereno.subscriptions.models.types import format_instant


class TooEarly(Exception):  # noqa: N818 - what is wrong is the instant
    """The end lies before the beginning; the sentence says where that is."""


def rehearse(
    declared: Sequence[Document],
    lines: Iterable[bytes],
    first: datetime | None = None,
    last: datetime | None = None,
    *,
    show_unmatched: bool = False,
) -> Iterator[Output]:
    """What would have happened, in order; LineFault at the first line that is wrong.

    Time subscriptions fire between `first` and `last`: by default the first and the last line.
    """
    return rehearse_lines(
        declared, read(lines, tenant=_tenant(declared)), first, last, show_unmatched=show_unmatched
    )


def rehearse_lines(
    declared: Sequence[Document],
    lines: Iterable[tuple[int, Line]],
    first: datetime | None = None,
    last: datetime | None = None,
    *,
    show_unmatched: bool = False,
) -> Iterator[Output]:
    """The same over lines that are read already, each with its number."""
    numbered = iter(lines)
    head: list[tuple[int, Line]] = [line for line in (next(numbered, None),) if line is not None]
    start = first or (head[0][1].at if head else last)
    if start is None:
        return
    if last is not None and last < start:
        raise TooEarly(f"expected an instant not earlier than {format_instant(start)}, the first one")
    world = World({found.key: found for found in declare(declared, start)}, show_unmatched=show_unmatched)
    yield from run(world, chain(head, numbered), last)


def _tenant(declared: Sequence[Document]) -> str:
    """The tenant of an event that names none: the only one of the subscriptions, else the default one."""
    tenants = {document.tenant for document in declared if document.kind == "Subscription"}
    return tenants.pop() if len(tenants) == 1 else DEFAULT_TENANT
