"""Shapes of principals and tokens."""

from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, Field

from sereno.control_plane.api.models.objects import MoveAnswer
from sereno.control_plane.api.models.shape import Reason, Shape


class WhoAmI(Shape):
    """The principal of the token that was shown, in one tenant."""

    principal: str
    tenant: str
    every_tenant: bool
    known: bool = Field(description="false when the principal was removed since")
    roles: list[str] = Field(description="also those that come with another")
    scopes: list[str] = Field(description="what the token is narrowed to; empty: to nothing")


class RolesRequest(Shape):
    """The roles of a principal."""

    roles: list[str] = Field([], max_length=16)
    about: str | None = Field(None, max_length=256)
    reason: Reason | None = None


class PrincipalRequest(RolesRequest):
    """A principal to declare, such as `user:marta`."""

    name: Annotated[str, Field(min_length=1, max_length=160)]


class RemovalAnswer(MoveAnswer):
    """The principal after the step, and the subscriptions that used its rights: reassign or delete them."""

    left_behind: list[str]


class TokenRequest(Shape):
    """A token to issue. Without `expires` it is valid until it is revoked."""

    principal: Annotated[str, Field(min_length=1, max_length=160)]
    scopes: list[str] = Field([], max_length=64)
    expires: AwareDatetime | None = None
    label: str | None = Field(None, max_length=256)


class TokenEntry(Shape):
    """A token without its text."""

    id: str
    tenant: str
    principal: str
    scopes: list[str]
    label: str | None
    expires: datetime | None
    created_by: str
    created_at: datetime
    last_used_at: datetime | None = Field(description="to the minute")


class TokenAnswer(TokenEntry):
    """A new token; `token` is its text, which stands nowhere else."""

    token: str
    manifest: int
