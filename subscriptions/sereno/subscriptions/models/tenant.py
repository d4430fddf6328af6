"""A tenant as declared."""

from sereno.subscriptions.models.declared import Declared
from sereno.subscriptions.models.types import Name, Zone


class TenantSpec(Declared):
    """Whose objects these are; its zone counts the days of budgets."""

    zone: Zone
    plan: Name | None = None
