"""Many subscriptions and messages, and not one series more: what is labelled is bounded by what is built, not by what is used.

Run by `make prove-cardinality`; arguments are the numbers of subscriptions and of messages.
"""

import sys
import tempfile
import time
from pathlib import Path

from tests.dashboards.prove import told
from tests.e2e.running import Running, endpoint_url, figures, github_headers, pull_request, running, until
from tests.e2e.test_metrics import ENDPOINT, SUBSCRIPTION, series

SUBSCRIPTIONS, MESSAGES = 10_000, 100_000
AT_ONCE = 500
MINUTES = 20
DEPOSITS = 'sereno_mailbox_deposits_total{family="webhook",tenant="default"}'


def sent(sereno: Running, url: str, number: int) -> None:
    """One webhook."""
    body = pull_request(number)
    assert sereno.http.post(url, content=body, headers=github_headers(body, str(number))).status_code == 202


def deposits(sereno: Running) -> float:
    """How many messages were deposited."""
    return figures(sereno, "pipeline").get(DEPOSITS, 0)


def answered(sereno: Running, process: str) -> float:
    """The seconds in which a process answers its metrics, all gauges looked up."""
    # Longer than what was looked up is shown again.
    time.sleep(5)
    began = time.perf_counter()
    figures(sereno, process)
    return time.perf_counter() - began


def main(subscriptions: int, messages: int) -> int:
    """The exit code: 0 when no series was added."""
    with (
        tempfile.TemporaryDirectory(prefix="sereno-series-") as folder,
        running(Path(folder) / "data") as sereno,
    ):
        url = endpoint_url(sereno.apply(ENDPOINT + SUBSCRIPTION.format(number=0)))
        sent(sereno, url, 0)
        until(lambda: deposits(sereno) == 1)
        until(
            lambda: 'sereno_mailbox_messages{state="ready",tenant="default"}' in figures(sereno, "pipeline")
        )
        before = series(sereno)
        for first in range(1, subscriptions, AT_ONCE):
            numbers = range(first, min(first + AT_ONCE, subscriptions))
            sereno.apply(ENDPOINT + "".join(SUBSCRIPTION.format(number=number) for number in numbers))
        rounds = -(-messages // subscriptions)
        for number in range(1, rounds + 1):
            sent(sereno, url, number)
        until(lambda: deposits(sereno) >= 1 + rounds * subscriptions, seconds=60 * MINUTES)
        seconds = {process: answered(sereno, process) for process in sereno.probes}
        added = sorted(series(sereno) - before)
        told(
            f"{subscriptions} subscriptions, {deposits(sereno):.0f} messages: {len(before)} series before, {len(added)} added"
        )
        told(
            "answered in "
            + ", ".join(f"{process} {taken * 1000:.0f} ms" for process, taken in seconds.items())
        )
        for name in added:
            told(f"added: {name}")
    return 1 if added else 0


if __name__ == "__main__":
    sys.exit(main(*(map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (SUBSCRIPTIONS, MESSAGES))))
