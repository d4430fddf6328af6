"""One delivery: a request at a known endpoint, and what became of it."""

from datetime import datetime
from typing import Literal, NamedTuple

Verdict = Literal["accepted", "paused", "answered", "refused", "not_stored", "redelivered"]


class Delivery(NamedTuple):
    """A request and its answer; `id` (UUIDv7) is the request id that the sender was told, `latency_ms` our time for it.

    `reason` says more than the sender was told: why a signature does not hold stands here alone.
    """

    tenant: str
    id: str
    endpoint: str
    received: datetime
    verdict: Verdict
    status: int
    reason: str | None
    latency_ms: float
    size: int
    receipts: tuple[str, ...] = ()
    redelivery_of: str | None = None
    by: str | None = None
