"""Back-off after a failed attempt; the server's minimum holds whatever a worker asks for."""

from datetime import timedelta

MINIMUM_SECONDS = 1.0
MAXIMUM_SECONDS = 900.0


def delay(attempts: int, retry_after: timedelta | None) -> timedelta:
    """How long the work waits after attempt number `attempts` failed: doubling, or what the worker asked for."""
    if retry_after is not None:
        return max(timedelta(seconds=MINIMUM_SECONDS), retry_after)
    doubled = MINIMUM_SECONDS * 2.0 ** min(attempts - 1, 30)
    return timedelta(seconds=min(MAXIMUM_SECONDS, doubled))
