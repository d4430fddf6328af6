"""Evidence: everything that was stored about one receipt or message, as explain reads it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sereno.execution_plane.explain.versions import Version
from sereno.subscriptions.snapshot import CatalogObject

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Chain:
    """What led to an event: the first event, the messages among its causes, the candidate that a verdict was about."""

    root: Row | None = None
    ancestors: Sequence[Row] = ()
    candidate: Row | None = None


NO_CHAIN = Chain()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is stored of one event and of what it caused; `asked` is the message when one was asked about,
    `suspension` the one that the event tripped when that was asked about.
    """

    receipt: Row
    verdicts: Sequence[Row]
    asked: UUID | None = None
    versions: Mapping[tuple[str, int], CatalogObject] = field(default_factory=dict)
    messages: Mapping[UUID, Row] = field(default_factory=dict)
    events: Mapping[UUID, Sequence[Row]] = field(default_factory=dict)
    in_force: Sequence[Version] = ()
    filtered: Mapping[str, int] = field(default_factory=dict)
    """How many events of that hour did not concern each of them."""
    due_instant: Row | None = None
    quarantine: Row | None = None
    chain: Chain = NO_CHAIN
    suspension: Row | None = None


class Incomplete(Exception):  # noqa: N818 - it is the evidence that is incomplete
    """A part that must have been stored is not there; the sentence names it."""
