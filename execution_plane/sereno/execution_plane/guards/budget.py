"""Budgets: so many activations and so much money in a calendar period, counted alike at every level.

One activation takes its reserve of each limit with its delivery; the usage that its run reports replaces the reserve,
in the period of the reservation. A delivery that is merged away gives all of it back, a dead letter what was not used.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from sereno.execution_plane.guards.account import ACTIVATIONS, Account, Limit
from sereno.execution_plane.guards.verdict import Number
from sereno.subscriptions.period import bounds
from sereno.subscriptions.rate import Money

_NOTHING = Decimal()


class Line(NamedTuple):
    """An amount on one account; negative ones give back."""

    account: Account
    amount: Decimal


class Reservation(NamedTuple):
    """One row: what a message has taken, and the usage reported for it so far in the currencies of its lines."""

    tenant: str
    message: UUID
    lines: tuple[Line, ...]
    reported: tuple[Money, ...] = ()


class Exceeded(NamedTuple):
    """The first limit that has no room for one more activation."""

    limit: Limit
    used: Decimal
    starts: datetime
    ends: datetime


class Settlement(NamedTuple):
    """What a report changes: amounts to add to accounts, the reservation afterwards, and what could not be counted.

    `foreign` is usage in a currency of no limit: the reservation stands, and the owner is told (`currency`).
    """

    lines: tuple[Line, ...]
    reservation: Reservation
    foreign: tuple[Money, ...] = ()


def account_of(limit: Limit, tenant: str, zone: ZoneInfo, at: datetime) -> Account:
    """The account of a limit in the period around `at` (database clock)."""
    return Account(tenant, limit.scope, limit.name, limit.measure, limit.per, bounds(limit.per, at, zone)[0])


def accounts_of(limits: Iterable[Limit], tenant: str, zone: ZoneInfo, at: datetime) -> tuple[Account, ...]:
    """The accounts that an activation at this moment counts on, one a limit."""
    return tuple(account_of(limit, tenant, zone, at) for limit in limits)


def lines_of(limits: Iterable[Limit], tenant: str, zone: ZoneInfo, at: datetime) -> tuple[Line, ...]:
    """What one activation takes, and from which accounts."""
    return tuple(Line(account_of(limit, tenant, zone, at), limit.reserve) for limit in limits)


def exceeded(
    limits: Iterable[Limit], used: Mapping[Account, Decimal], tenant: str, zone: ZoneInfo, at: datetime
) -> Exceeded | None:
    """The first limit without room for one more activation; None when every one has."""
    for limit in limits:
        starts, ends = bounds(limit.per, at, zone)
        account = Account(tenant, limit.scope, limit.name, limit.measure, limit.per, starts)
        taken = used.get(account, _NOTHING)
        if taken + limit.reserve > limit.amount or taken >= limit.amount:
            return Exceeded(limit, taken, starts, ends)
    return None


def numbers_of(found: Exceeded) -> dict[str, Number]:
    """What a person is told of a limit that is reached."""
    limit = found.limit
    return {
        "scope": limit.scope,
        "of": limit.name,
        "measure": limit.measure if not limit.is_money else "cost",
        "used": text_of(limit, found.used),
        "limit": f"{text_of(limit, limit.amount)}/{limit.per}",
        "reserve": text_of(limit, limit.reserve),
        "amount": text_of(limit, found.used),
        "period_starts": found.starts,
        "period_ends": found.ends,
    }


def text_of(limit: Limit, amount: Decimal) -> str:
    """An amount of a limit as people write it."""
    return f"{amount} {limit.measure}" if limit.is_money else str(amount)


def settle(reservation: Reservation, usage: Sequence[Money]) -> Settlement:
    """What the usage of a run changes: on each account of its currency the amount replaces the reserve.

    Reports add up: a second one is counted on top of the first.
    """
    reported = _sum((*reservation.reported, *usage))
    before = _sum(reservation.reported)
    known = {line.account.measure for line in reservation.lines}
    lines = []
    for account, reserve in reservation.lines:
        now = reported.get(account.measure)
        if now is not None:
            lines.append(Line(account, now - before.get(account.measure, reserve)))
    after = reservation._replace(reported=tuple(Money(amount, code) for code, amount in reported.items()))
    foreign = tuple(money for money in usage if money.currency not in known)
    return Settlement(tuple(line for line in lines if line.amount), after, foreign)


def refund(reservation: Reservation) -> Settlement:
    """Give all of it back: the delivery was merged into another."""
    return _given_back(reservation, whole=True)


def bury(reservation: Reservation) -> Settlement:
    """Give back what was not used: the message died. The activation itself is kept when usage was reported."""
    return _given_back(reservation, whole=False)


def _given_back(reservation: Reservation, *, whole: bool) -> Settlement:
    reported = _sum(reservation.reported)
    lines = []
    for account, reserve in reservation.lines:
        standing = reported.get(account.measure, reserve)
        kept = _NOTHING if whole or not reported else reported.get(account.measure, _kept(account, reserve))
        lines.append(Line(account, kept - standing))
    return Settlement(
        tuple(line for line in lines if line.amount), reservation._replace(lines=(), reported=())
    )


def _kept(account: Account, reserve: Decimal) -> Decimal:
    return reserve if account.measure == ACTIVATIONS else _NOTHING


def _sum(amounts: Iterable[Money]) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for money in amounts:
        total[money.currency] = total.get(money.currency, _NOTHING) + money.amount
    return total
