"""The gauge of budgets: how full the fullest of each scope is."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal

from sereno.execution_plane.gauges.standing import SQL
from sereno.execution_plane.guards.account import Account
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.pipeline.columns import columns
from sereno.execution_plane.pipeline.directory import Directory
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.readings import MOST, Look, Reading


def budgets(pool: AnyPool, directory: Directory) -> Look:
    """Used against limit in the running periods, of `MOST` budgets at most, in one statement."""

    async def look() -> Iterable[Reading]:
        limits = limits_of(_subscriptions(directory), datetime.now(UTC))
        rows = await pool.fetch(SQL["budgets"], *columns(limits, 6)) if limits else []
        used = {Account(*key): amount for *key, amount in rows}
        return fullest(limits, used)

    return look


def _subscriptions(directory: Directory) -> Iterator[Subscription]:
    for tenant in directory.policy_valid_until():
        yield from directory.index.of_tenant(tenant)


def limits_of(subscriptions: Iterable[Subscription], at: datetime) -> dict[Account, Decimal]:
    """The limit of each account that a wake-up now would count against."""
    limits: dict[Account, Decimal] = {}
    for one in subscriptions:
        if one.budgets is not None and len(limits) < MOST:
            limits.update({entry.account: entry.limit.amount for entry in one.budgets.entries(at)})
    return limits


def fullest(limits: Mapping[Account, Decimal], used: Mapping[Account, Decimal]) -> list[Reading]:
    """One reading a tenant, scope and measure; no name of an agent or a subscription is in it."""
    found: dict[tuple[str, str, str], float] = {}
    for account, limit in limits.items():
        share = float(used.get(account, Decimal()) / limit) if limit else 1.0
        key = account.tenant, account.scope, account.measure
        found[key] = max(share, found.get(key, 0.0))
    return [Reading("sereno.budget.used", labels, value) for labels, value in found.items()]
