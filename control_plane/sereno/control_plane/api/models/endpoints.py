"""Shapes of endpoints and their secrets."""

from typing import Annotated, Any

from pydantic import Field, SecretStr

from sereno.control_plane.api.models.objects import CatalogEntry
from sereno.control_plane.api.models.shape import Shape
from sereno.subscriptions.lifecycle import State


class EndpointEntry(CatalogEntry):
    """An endpoint, with the URL to which senders post."""

    url: str | None


Secret = Annotated[SecretStr, Field(min_length=1, max_length=2048)]


class EndpointRequest(Shape):
    """An endpoint to add: `spec` as in a document, but its `secrets` may be left out.

    `secret` is sealed at once for the execution plane; without it and without `spec.secrets` one is made.
    """

    name: str
    spec: dict[str, Any]
    labels: dict[str, str] = Field(default_factory=dict)
    secret: Secret | None = Field(None, description="kept only sealed, and never shown again")


class RotateRequest(Shape):
    """A new secret beside the old one; later, `finish` ends the old one."""

    reference: str | None = Field(None, description="env:NAME or file:PATH")
    secret: Secret | None = Field(None, description="kept only sealed, and never shown again")
    finish: bool = Field(False, description="end the older secret instead of adding a new one")


class EndpointAnswer(Shape):
    """The endpoint after the step. A secret that was made stands here once, and nowhere else."""

    name: str
    tenant: str
    version: int
    state: State
    url: str | None
    secrets: list[str] = Field(description="references, and fingerprints of sealed secrets")
    generated_secret: str | None
    manifest: int
