"""Budgets: so many activations and so much money in a calendar period, counted alike at every level.

One activation takes its reserve of each limit with its delivery; the usage that its run reports replaces the reserve,
in the period of the reservation. A delivery that is merged away gives all of it back, a dead letter what was not used.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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


class Entry(NamedTuple):
    """One limit in one of its periods: its account, and up to how much used there is room for one more activation."""

    limit: Limit
    account: Account
    room_until: Decimal
    starts: datetime
    ends: datetime


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
    `kept` is what stays taken of a reservation that is done.
    """

    lines: tuple[Line, ...]
    reservation: Reservation
    foreign: tuple[Money, ...] = ()
    kept: tuple[Line, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Budgets:
    """Every limit that one version of a subscription counts against, in the zone of its tenant, the nearest first."""

    tenant: str
    zone: ZoneInfo
    limits: tuple[Limit, ...]
    _latest: list["_Page"] = field(default_factory=list, repr=False)
    """The page that was asked for last: most activations find it open."""

    def entries(self, at: datetime) -> tuple[Entry, ...]:
        """The accounts of the periods around `at` (database clock), one a limit."""
        return self._page(at).entries

    def lines(self, at: datetime) -> tuple[Line, ...]:
        """What one activation takes, and from which accounts."""
        return self._page(at).lines

    def _page(self, at: datetime) -> "_Page":
        latest = self._latest
        if latest and latest[0].starts <= at < latest[0].ends:
            return latest[0]
        page = _page(self, at)
        latest[:] = [page]
        return page


class _Page(NamedTuple):
    """What is the same for every activation from `starts` until `ends`: no period begins or ends between."""

    starts: datetime
    ends: datetime
    entries: tuple[Entry, ...]
    lines: tuple[Line, ...]


def _page(budgets: Budgets, at: datetime) -> _Page:
    entries = []
    for limit in budgets.limits:
        starts, ends = bounds(limit.per, at, budgets.zone)
        account = Account(budgets.tenant, limit.scope, limit.name, limit.measure, limit.per, starts)
        entries.append(Entry(limit, account, limit.amount - limit.reserve, starts, ends))
    lines = tuple(Line(entry.account, entry.limit.reserve) for entry in entries)
    starts = max((entry.starts for entry in entries), default=at)
    return _Page(starts, min((entry.ends for entry in entries), default=at), tuple(entries), lines)


def exceeded(budgets: Budgets, used: Mapping[Account, Decimal], at: datetime) -> Exceeded | None:
    """The first limit without room for one more activation; None when every one has."""
    for limit, account, room_until, starts, ends in budgets.entries(at):
        taken = used.get(account, _NOTHING)
        if taken > room_until or (not limit.reserve and taken >= limit.amount):
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
    lines, stays = [], []
    for account, reserve in reservation.lines:
        standing = reported.get(account.measure, reserve)
        kept = _NOTHING if whole or not reported else reported.get(account.measure, _kept(account, reserve))
        lines.append(Line(account, kept - standing))
        stays.append(Line(account, kept))
    return Settlement(
        tuple(line for line in lines if line.amount),
        reservation._replace(lines=(), reported=()),
        kept=tuple(line for line in stays if line.amount),
    )


def _kept(account: Account, reserve: Decimal) -> Decimal:
    return reserve if account.measure == ACTIVATIONS else _NOTHING


def _sum(amounts: Iterable[Money]) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for money in amounts:
        total[money.currency] = total.get(money.currency, _NOTHING) + money.amount
    return total
