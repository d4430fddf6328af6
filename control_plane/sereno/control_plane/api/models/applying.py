"""Shapes of applying documents, and of comparing them with the catalog."""

from typing import Annotated, Any

from pydantic import Field

from sereno.control_plane.api.models.shape import Reason, Shape
from sereno.control_plane.catalog.item import Kind
from sereno.control_plane.catalog.plan import Change
from sereno.subscriptions.lifecycle import State


class ApplyRequest(Shape):
    """Documents to apply or to compare with the catalog."""

    documents: Annotated[str, Field(max_length=8_000_000, description="YAML, any number of documents.")]
    dry_run: bool = Field(False, description="Answer what would happen and change nothing.")
    prune: str | None = Field(
        None, description="Delete what carries this label (`key` or `key=value`) and is not in the documents."
    )
    revive: bool = Field(False, description="Take deleted names again; needs a reason.")
    without_replay: bool = Field(
        False, description="Put an edited criterion in force without judging what people labelled again."
    )
    reason: Reason | None = None


class AppliedObject(Shape):
    """One object and what became of it; a dry run mints no ids for what does not exist yet."""

    kind: Kind
    tenant: str
    name: str
    id: str | None
    version: int
    state: State
    change: Change
    url: str | None = Field(None, description="Where senders post, for an endpoint.")
    waits: list[str] = Field(
        [],
        description="Why it waits for another person; of a widening edit the last approved text keeps running.",
    )


class ApplyAnswer(Shape):
    """All objects in the documents' order, then the deleted ones."""

    objects: list[AppliedObject]
    manifest: dict[str, int] = Field(description="Per tenant the manifest version that says so.")


class ChangedField(Shape):
    """A field that differs; `null` where it is absent."""

    path: str
    before: Any
    after: Any


class ObjectDrift(Shape):
    """An object that differs from its document."""

    kind: Kind
    tenant: str
    name: str
    change: Change
    fields: list[ChangedField]


class DiffAnswer(Shape):
    """What applying would change; empty when catalog and documents agree."""

    changes: list[ObjectDrift]
