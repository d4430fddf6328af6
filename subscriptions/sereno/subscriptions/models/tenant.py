"""A tenant as declared."""

from typing import Annotated

from pydantic import Field, StrictInt

from sereno.subscriptions.models.declared import Declared
from sereno.subscriptions.models.limits import Budget
from sereno.subscriptions.models.types import Amount, Name, Principal, ShortText, Zone


class KnownActor(Declared):
    """As whom a principal acts at a source: its login, user id or address there."""

    origin: ShortText
    actor: ShortText
    principal: Principal


class TenantSpec(Declared):
    """Whose objects these are; its zone counts the days of budgets, its budget and longest chain bound all its agents,
    its identities say who is who at the sources.

    `reserve` is what an activation reserves where neither its subscription nor its agent says so.
    """

    zone: Zone
    plan: Name | None = None
    budget: Budget | None = None
    reserve: Amount | None = None
    max_chain: Annotated[StrictInt, Field(ge=1, le=64)] = 8
    identities: Annotated[tuple[KnownActor, ...], Field(max_length=10_000)] = ()
