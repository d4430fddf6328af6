"""A tenant as declared."""

from typing import Annotated

from pydantic import Field

from sereno.subscriptions.models.declared import Declared
from sereno.subscriptions.models.types import Name, Principal, ShortText, Zone


class KnownActor(Declared):
    """As whom a principal acts at a source: its login, user id or address there."""

    origin: ShortText
    actor: ShortText
    principal: Principal


class TenantSpec(Declared):
    """Whose objects these are; its zone counts the days of budgets, its identities say who is who at the sources."""

    zone: Zone
    plan: Name | None = None
    identities: Annotated[tuple[KnownActor, ...], Field(max_length=10_000)] = ()
