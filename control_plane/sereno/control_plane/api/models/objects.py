"""Shapes of the objects of the catalog, and of steps in their lives."""

from datetime import datetime
from typing import Any

from pydantic import Field

from sereno.control_plane.api.models.shape import Reason, Shape
from sereno.control_plane.catalog.item import Kind
from sereno.subscriptions.lifecycle import State


class CatalogEntry(Shape):
    """An object of the catalog as it is now."""

    kind: Kind
    tenant: str
    name: str
    id: str
    version: int
    state: State
    labels: dict[str, str]
    spec: dict[str, Any]
    created_by: str
    created_at: datetime
    updated_at: datetime


class MoveRequest(Shape):
    """Why it is paused, resumed or deleted."""

    reason: Reason


class MoveAnswer(Shape):
    """The object after the step, and the suspensions that it ended."""

    name: str
    tenant: str
    version: int
    state: State
    manifest: int
    lifted: list[str] = Field(default_factory=list)
