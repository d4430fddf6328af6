"""What a subscription inherits from its tenant and its agent: zone, longest chain, budgets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from zoneinfo import ZoneInfo

from sereno.execution_plane.guards.account import ACTIVATIONS, Limit, Scope
from sereno.execution_plane.guards.budget import Budgets
from sereno.subscriptions.models import TenantSpec
from sereno.subscriptions.models.limits import Budget
from sereno.subscriptions.rate import Money

MAX_CHAIN = 8
UTC = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True)
class Tenancy:
    """A tenant as its subscriptions feel it; `reserve` is what an activation reserves where nobody says so."""

    zone: ZoneInfo = UTC
    max_chain: int = MAX_CHAIN
    budget: Budget | None = None
    reserve: Money | None = None


TENANCY = Tenancy()
"""That of a tenant of which nothing is declared."""


def of_tenant(spec: TenantSpec) -> Tenancy:
    """The tenancy that a declared tenant means."""
    return Tenancy(ZoneInfo(spec.zone), spec.max_chain, spec.budget, spec.reserve)


Named = tuple[str, Budget | None]


def budgets_of(tenancy: Tenancy, tenant: str, *, subscription: Named, agent: Named) -> Budgets | None:
    """Every budget that an activation counts against, the nearest first; None when there is none.

    One activation costs the same on each of them: what the nearest that says so reserves in that currency.
    """
    named: tuple[tuple[Scope, Named], ...] = (
        ("subscription", subscription),
        ("agent", agent),
        ("tenant", (tenant, tenancy.budget)),
    )
    levels = [(scope, name, budget) for scope, (name, budget) in named if budget is not None]
    reserves = _reserves(levels, tenancy)
    limits = tuple(limit for level in levels for limit in _of_level(*level, reserves))
    return Budgets(tenant, tenancy.zone, limits) if limits else None


def _reserves(levels: Sequence[tuple[Scope, str, Budget]], tenancy: Tenancy) -> Mapping[str, Decimal]:
    said = [budget.cost.reserve for _, _, budget in levels if budget.cost is not None]
    reserves: dict[str, Decimal] = {}
    for money in (*said, tenancy.reserve):
        if money is not None:
            reserves.setdefault(money.currency, money.amount)
    return reserves


def _of_level(scope: Scope, name: str, budget: Budget, reserves: Mapping[str, Decimal]) -> Iterator[Limit]:
    rate, cost = budget.activations, budget.cost
    if rate is not None:
        yield Limit(scope, name, ACTIVATIONS, rate.per, Decimal(rate.count), Decimal(1))
    if cost is not None:
        money = cost.limit.money
        reserve = reserves.get(money.currency, Decimal())
        yield Limit(scope, name, money.currency, cost.limit.per, money.amount, reserve)
