"""What `make bench-smoke` calls missed, so that it ends with 1."""

from tests.benchmarks.smoke import BEAT_SECONDS, LEASES, LONGEST_SECONDS, REQUESTS, WARM_UP, missed
from tests.e2e.webhook_load import Load

ALL = WARM_UP + 2 * REQUESTS


def load(*, code: int = 202, slowest: float = LONGEST_SECONDS) -> Load:
    """All answered, the slowest two of a hundred in the given seconds."""
    return Load((202,) * 99 + (code,), (0.01,) * 98 + (slowest,) * 2, 1.0)


def test_nothing_is_missed_within_the_bounds() -> None:
    assert missed(load(), ALL, BEAT_SECONDS) == []


def test_each_missed_figure_is_named() -> None:
    assert missed(load(slowest=LONGEST_SECONDS + 0.001), ALL, 0.1) == [
        "202 after 251 ms (p99), not within 250 ms"
    ]
    assert missed(load(code=503), ALL, 0.1) == ["1 of 100 webhooks were not accepted"]
    assert missed(load(), ALL - 1, 0.1) == [f"{ALL} webhooks became {ALL - 1} messages"]
    assert missed(load(), ALL, 1.5) == [f"{LEASES} leases renewed in 1.50 s, not within 1 s"]
