"""How many requests an endpoint may take in each period, counted in this process after authentication."""

import math
from collections.abc import Mapping
from datetime import datetime

from sereno.subscriptions.rate import Period, Rate

_SECONDS: Mapping[Period, int] = {
    "min": 60,
    "hour": 3600,
    "day": 86_400,
    "week": 604_800,
    "month": 2_592_000,
}


class RateLimit:
    """A bucket an endpoint, filled evenly: after a quiet period as many may come at once as the rate names."""

    def __init__(self) -> None:
        self._left: dict[tuple[str, str], tuple[Rate, float, datetime]] = {}

    def take(self, tenant: str, endpoint: str, rate: Rate, now: datetime) -> int | None:
        """None when one more may come; else after how many whole seconds it may (`Retry-After`)."""
        key, each = (tenant, endpoint), _SECONDS[rate.per] / rate.count
        known, left, at = self._left.get(key, (rate, float(rate.count), now))
        if known != rate:
            left = float(rate.count)
        left = min(float(rate.count), left + max(0.0, (now - at).total_seconds()) / each)
        if left < 1:
            self._left[key] = (rate, left, now)
            return max(1, math.ceil((1 - left) * each))
        self._left[key] = (rate, left - 1, now)
        return None
