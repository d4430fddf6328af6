"""Settling: what the ends of messages mean for the accounts, for the usage log and for their owners (pure)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sereno.envelope.identifiers import to_people
from sereno.execution_plane.accounts.usage_log import Used
from sereno.execution_plane.guards.account import ACTIVATIONS, Account
from sereno.execution_plane.guards.budget import Line, Reservation
from sereno.execution_plane.guards.changes import Change
from sereno.execution_plane.guards.effects import changes_of_settlement
from sereno.execution_plane.guards.ledger import Ledger
from sereno.execution_plane.guards.usage import cost_of
from sereno.mailbox.notices import Notice
from sereno.subscriptions.rate import Money


@dataclass(frozen=True, slots=True)
class End:
    """How a message ended: acknowledged with what its worker reported, or dead for a reason."""

    tenant: str
    message: UUID
    run: UUID
    at: datetime
    agent: str
    subscription: str
    dead_of: str | None
    usage: Mapping[str, Any] | None
    result: Any = None
    attempts: int | None = None
    reservation: Reservation | None = None


@dataclass(slots=True)
class Settled:
    """What follows from the ends: rows to change, rows of the usage log, what owners are told."""

    changes: list[Change] = field(default_factory=list)
    used: list[Used] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)


def settle(ends: Sequence[End], ledger: Ledger) -> Settled:
    """Reconcile each reservation with what its run reported, give back what a dead message did not use."""
    done = Settled()
    for end in ends:
        cost, fault = _cost(end)
        if fault is not None:
            done.notices.append(_notice(end, "usage", f"reported a cost that cannot be read: {fault}"))
        done.used += _used(end, cost)
        if end.reservation is None:
            continue
        ledger.reservations[end.message] = end.reservation
        settlement = ledger.report(end.message, cost) if end.dead_of is None else ledger.bury(end.message)
        if settlement is not None:
            done.changes += changes_of_settlement(settlement)
            done.notices += [
                _notice(end, "currency", f"reported {money}, and no budget counts in {money.currency}")
                for money in settlement.foreign
            ]
    return done


def _cost(end: End) -> tuple[tuple[Money, ...], str | None]:
    lines = () if end.reservation is None else end.reservation.lines
    own = next((line.account.measure for line in lines if line.account.measure != ACTIVATIONS), None)
    try:
        return cost_of(end.usage, own), None
    except ValueError as fault:
        return (), str(fault)


def _used(end: End, cost: Sequence[Money]) -> Iterator[Used]:
    reserved = _reserved(end.reservation)
    amounts: dict[str, Decimal | None] = {}
    for money in cost:
        amounts[money.currency] = (amounts.get(money.currency) or Decimal()) + money.amount
    for currency in reserved:
        amounts.setdefault(currency, None)
    model = None if end.usage is None else end.usage.get("model")
    for currency, amount in (amounts or {"": None}).items():
        yield Used(
            end.tenant,
            str(end.run),
            currency,
            end.at,
            end.subscription,
            end.agent,
            model if isinstance(model, str) else None,
            "acked" if end.dead_of is None else f"dead: {end.dead_of}",
            amount,
            reserved.get(currency),
        )


def _reserved(reservation: Reservation | None) -> dict[str, Decimal]:
    """What was taken for one activation, by currency: the same on each account of it."""
    lines = () if reservation is None else reservation.lines
    return {account.measure: amount for account, amount in lines if account.measure != ACTIVATIONS}


def _notice(end: End, kind: str, what: str) -> Notice:
    message = to_people("msg", end.message)
    return Notice(
        end.tenant,
        f"{kind}/{end.subscription}",
        f"Message {message} of subscription {end.subscription} {what}; the reservation stands.",
        {"message": message, "agent": end.agent},
    )


def reservation_of(
    tenant: str, message: UUID, lines: Sequence[Sequence[Any]], reported: Sequence[Any]
) -> Reservation:
    """The reservation in a row: its lines are scope, name, measure, period, start and amount."""
    return Reservation(
        tenant,
        message,
        tuple(_line(tenant, line) for line in lines),
        tuple(Money(Decimal(amount), currency) for amount, currency in reported),
    )


def _line(tenant: str, line: Sequence[Any]) -> Line:
    scope, name, measure, per, start, amount = line
    return Line(Account(tenant, scope, name, measure, per, datetime.fromisoformat(start)), Decimal(amount))
