"""Accounts: what was used of one budget in one calendar period; reserved at the delivery, reconciled afterwards."""

from datetime import datetime
from decimal import Decimal
from typing import Literal, NamedTuple

from sereno.subscriptions.rate import Period

Scope = Literal["tenant", "agent", "subscription"]
ACTIVATIONS = "activations"


class Account(NamedTuple):
    """The key of a row: whose budget, of what (`activations` or a currency), in the period that begins at `start` (UTC).

    Sorted as tuples they are in the order in which they are locked: tenant, then scope, then name.
    """

    tenant: str
    scope: Scope
    name: str
    measure: str
    per: Period
    start: datetime


class Limit(NamedTuple):
    """One budget that an activation counts against: so much per period, of which one activation takes `reserve`."""

    scope: Scope
    name: str
    measure: str
    per: Period
    amount: Decimal
    reserve: Decimal

    @property
    def is_money(self) -> bool:
        """Whether it is counted in a currency."""
        return self.measure != ACTIVATIONS
