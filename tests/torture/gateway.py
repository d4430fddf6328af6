"""Kills the gateway and NATS with SIGKILL at random under load: what was answered 202 is found again, nothing comes twice.

Run by `make torture-gateway`; an argument is the number of kills. Each sender repeats a webhook that got no 202, as senders
do, so an event that was stored although its answer was lost arrives once more and must not wake twice.
"""

import itertools
import random
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

import httpx

from tests.e2e.running import DOCUMENTS, endpoint_url, github_headers, pull_request, until
from tests.torture.killing import REDELIVERY_SECONDS, Plant, doubled_or_lost, plant

VICTIMS = ("gateway", "nats")
KILLS = 60
SENDERS = 6
MOST_BETWEEN_KILLS = 40
AGENT = "reviewer"
SEED = 20260831


@dataclass(slots=True)
class Senders:
    """Threads that send one pull request after the other, each until it is accepted."""

    url: str
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    accepted: set[str] = field(default_factory=set)
    tries: Counter[str] = field(default_factory=Counter)
    ending: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Send until the end is asked for; what was begun is sent to its 202."""
        with httpx.Client(timeout=10, trust_env=False) as client:
            while not self.ending.is_set():
                self._deliver(client, next(self.numbers))

    def _deliver(self, client: httpx.Client, number: int) -> None:
        body, delivery = pull_request(number), f"delivery-{number}"
        while not self._try(client, body, delivery):
            # A moment only: what matters is that it comes again while something is still broken.
            self.ending.wait(0.02)

    def _try(self, client: httpx.Client, body: bytes, delivery: str) -> bool:
        try:
            answer = client.post(self.url, content=body, headers=github_headers(body, delivery))
        except httpx.TransportError:
            self.tries["no answer"] += 1
            return False
        self.tries[str(answer.status_code)] += 1
        assert answer.status_code in {HTTPStatus.ACCEPTED, HTTPStatus.SERVICE_UNAVAILABLE}, answer.text
        if answer.status_code == HTTPStatus.ACCEPTED:
            self.accepted.add(delivery)
        return answer.status_code == HTTPStatus.ACCEPTED


def torture(plant: Plant, kills: int) -> list[str]:
    """What was lost or doubled over so many kills."""
    senders = Senders(endpoint_url(plant.sereno.apply(DOCUMENTS)))
    chance, killed = random.Random(SEED), Counter[str]()
    with ThreadPoolExecutor(SENDERS) as threads:
        sending = [threads.submit(senders.run) for _ in range(SENDERS)]
        try:
            for _ in range(kills):
                progress(senders, chance.randint(1, MOST_BETWEEN_KILLS))
                victim = chance.choice(VICTIMS)
                plant.kill(victim)
                killed[victim] += 1
            progress(senders, 1)
        finally:
            senders.ending.set()
        for each in sending:
            each.result()
    expected = Counter(senders.accepted)
    until(lambda: plant.sereno.ready(AGENT) >= len(expected), seconds=REDELIVERY_SECONDS)
    sys.stdout.write(
        f"killed {dict(killed)}; answers {dict(senders.tries)}; {len(expected)} webhooks accepted\n"
    )
    return doubled_or_lost(expected, plant.take(AGENT))


def progress(senders: Senders, more: int) -> None:
    """Wait until so many more webhooks were accepted."""
    before = len(senders.accepted)
    until(lambda: len(senders.accepted) >= before + more, seconds=120)


def main(arguments: Sequence[str]) -> int:
    kills = int(arguments[0]) if arguments else KILLS
    with (
        tempfile.TemporaryDirectory(prefix="sereno-torture-") as folder,
        plant(Path(folder) / "data") as running,
    ):
        faults = torture(running, kills)
    sys.stdout.write("\n".join(faults or ["nothing lost, nothing twice"]) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
