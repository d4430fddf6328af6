"""How often, how much and how long a subscription may wake its agent."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt

from sereno.subscriptions.models.declared import Declared, Objection
from sereno.subscriptions.models.types import (
    ActivationRate,
    Amount,
    AmountRate,
    ClockTime,
    Duration,
    Instant,
    KeyExpression,
    Size,
    Zone,
)
from sereno.subscriptions.rate import Money, MoneyRate, parse_money, parse_money_rate

Then = Literal["drop", "batch"]


class Cooldown(Declared):
    """The rest between two activations, and what becomes of events that arrive in it."""

    every: Duration
    then: Then = "drop"


class Batch(Declared):
    """Several events in one activation: closed by window (from the first of them) or by size, at the latest at max_wait."""

    window: Duration
    max_wait: Duration | None = None
    max_items: Annotated[StrictInt, Field(ge=1, le=1000)] = 50
    max_bytes: Annotated[Size, Field(ge=1024, le=8_388_608)] = 1_048_576
    by: KeyExpression | None = None


class Cost(Declared):
    """Money per period, and what one activation reserves of it."""

    limit: AmountRate
    reserve: Amount | None = None

    @classmethod
    def _objections(cls, raw: Mapping[str, Any]) -> Iterator[Objection]:
        yield from super()._objections(raw)
        limit, reserve = _money(raw.get("limit"), parse_money_rate), _money(raw.get("reserve"), parse_money)
        if limit is None or reserve is None:
            return
        if limit.currency != reserve.currency:
            yield ("reserve",), f"expected an amount in {limit.currency}, the currency of the limit"
        elif reserve.amount > limit.amount:
            yield ("reserve",), f"expected at most the limit of {limit}: nothing would ever wake"


def _money(written: Any, parse: Callable[[str], Money | MoneyRate]) -> Money | None:
    """The money in what was written, if it can be read; what cannot is reported where it stands."""
    try:
        found = parse(written) if isinstance(written, str) else written
    except ValueError:
        return None
    return found.money if isinstance(found, MoneyRate) else found if isinstance(found, Money) else None


class Budget(Declared):
    """Activations and money per period."""

    activations: ActivationRate | None = None
    cost: Cost | None = None

    @classmethod
    def _objections(cls, raw: Mapping[str, Any]) -> Iterator[Objection]:
        yield from super()._objections(raw)
        if raw.get("activations") is None and raw.get("cost") is None:
            yield (), "expected activations, cost or both"


class Storm(Declared):
    """More arrivals than this in one period and the subscription is suspended; `per_object` counts each subject apart."""

    threshold: ActivationRate
    per_object: ActivationRate | None = None


class QuietHours(Declared):
    """The part of the day in which nothing wakes, in its zone; it may pass midnight."""

    zone: Zone
    from_: ClockTime = Field(alias="from")
    to: ClockTime
    then: Then = "batch"

    @classmethod
    def _objections(cls, raw: Mapping[str, Any]) -> Iterator[Objection]:
        yield from super()._objections(raw)
        if raw.get("to") is not None and raw.get("from", raw.get("from_")) == raw.get("to"):
            yield ("to",), "expected another time than from: nothing would ever wake"


class Limits(Declared):
    """Every limit of a subscription; what is absent does not limit."""

    cooldown: Cooldown | None = None
    batch: Batch | None = None
    budget: Budget | None = None
    when_busy: Literal["queue", "drop", "merge"] = "queue"
    storm: Storm | None = None
    max_occurrences: Annotated[StrictInt, Field(ge=1, le=2**53)] | None = None
    expires: Instant | None = None
    quiet_hours: QuietHours | None = None
    reentry: Annotated[StrictInt, Field(ge=0, le=64)] = 0
