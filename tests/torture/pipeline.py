"""Kills the pipeline with SIGKILL at each of its fault points, again and again: nothing is lost, nothing comes twice.

Run by `make torture-pipeline`. Webhooks go on arriving while it is dead.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.e2e.running import DOCUMENTS, endpoint_url, github_headers, pull_request, until
from tests.torture.killing import REDELIVERY_SECONDS, Plant, doubled_or_lost, plant

POINTS = ("pipeline.after_decide", "pipeline.after_commit", "pipeline.after_ack")
ROUNDS = 20
EVENTS = 5
AGENT = "reviewer"
PROCESS = "pipeline"


def torture(plant: Plant, rounds: int) -> list[str]:
    """What was lost or doubled over `rounds` kills at each point."""
    url = endpoint_url(plant.sereno.apply(DOCUMENTS))
    sent: Counter[str] = Counter()
    for point in POINTS:
        for _ in range(rounds):
            plant.start(PROCESS, fault=point)
            sent.update(_send(plant, url, first=len(sent) + 1))
            plant.await_kill(PROCESS)
        sys.stdout.write(f"{point}: killed {rounds} times\n")
    plant.start(PROCESS)
    until(lambda: plant.sereno.ready(AGENT) >= len(sent), seconds=REDELIVERY_SECONDS)
    # The sender's own repetition of everything must change nothing either.
    for number in range(1, len(sent) + 1):
        _post(plant, url, number)
    _settled(plant, url, sent)
    return doubled_or_lost(sent, plant.take(AGENT))


def _send(plant: Plant, url: str, *, first: int) -> list[str]:
    return [_post(plant, url, number) for number in range(first, first + EVENTS)]


def _post(plant: Plant, url: str, number: int) -> str:
    """Send one pull request; the id that its message must carry."""
    body, delivery = pull_request(number), f"delivery-{number}"
    answer = plant.sereno.http.post(url, content=body, headers=github_headers(body, delivery))
    assert answer.status_code == 202, answer.text
    return delivery


def _settled(plant: Plant, url: str, sent: Counter[str]) -> None:
    """Send one more event and wait for it: whatever came before it has been decided by then."""
    last = _post(plant, url, len(sent) + 1)
    sent.update([last])
    until(lambda: plant.sereno.ready(AGENT) >= len(sent), seconds=REDELIVERY_SECONDS)


def main(arguments: Sequence[str]) -> int:
    rounds = int(arguments[0]) if arguments else ROUNDS
    with (
        tempfile.TemporaryDirectory(prefix="sereno-torture-") as folder,
        plant(Path(folder) / "data") as running,
    ):
        faults = torture(running, rounds)
    sys.stdout.write("\n".join(faults or ["nothing lost, nothing twice"]) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
