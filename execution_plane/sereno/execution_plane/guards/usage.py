"""Usage: what a run says it cost, read from what its worker reported."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from sereno.subscriptions.currencies import CODES
from sereno.subscriptions.rate import Money, parse_money

_EXPECTED = 'expected the cost as "0.42 EUR" or {"amount": "0.42", "currency": "EUR"}'
_MOST = Decimal(10) ** 12


def cost_of(usage: Mapping[str, Any] | None, currency: str | None = None) -> tuple[Money, ...]:
    """The cost in a report: none, one, or a list of several; `currency` is that of a bare number.

    Everything else in the report (tokens, seconds) is no cost. ValueError says what was expected.
    """
    if usage is None or usage.get("cost") is None:
        return ()
    written = usage["cost"]
    said = usage.get("currency") or currency
    return tuple(_money(one, said) for one in (written if isinstance(written, list) else [written]))


def _money(written: Any, currency: Any) -> Money:
    if isinstance(written, Mapping):
        return _money(written.get("amount"), written.get("currency") or currency)
    if isinstance(written, str) and " " in written:
        return parse_money(written)
    if isinstance(written, bool) or not isinstance(written, str | int | float) or currency not in CODES:
        raise ValueError(_EXPECTED)
    try:
        amount = Decimal(str(written))
    except InvalidOperation:
        raise ValueError(_EXPECTED) from None
    if not amount.is_finite() or not 0 <= amount < _MOST:
        raise ValueError(_EXPECTED)
    return Money(amount, str(currency))
