"""Whether the time of a 401 tells a stranger anything: four kinds of refusal, sent in turn, told apart by their times?

Run by `make torture-timing`. For each pair of kinds the area under the ROC curve is what an observer gains: 0.5 is
nothing. It must stay within 0.03 of that.
"""

import itertools
import random
import socket
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.e2e.running import SECRET_VARIABLE, endpoint_url, github_headers, pull_request
from tests.torture.killing import Plant, plant

ROUNDS = 2_000
WARM_UP = 300
BOUND = 0.03
DOCUMENTS = f"""\
apiVersion: sereno/v1
kind: Tenant
metadata: {{name: other}}
spec: {{zone: UTC}}
---
apiVersion: sereno/v1
kind: Endpoint
metadata: {{name: github}}
spec: {{scheme: github, secrets: ["env:{SECRET_VARIABLE}"]}}
---
apiVersion: sereno/v1
kind: Endpoint
metadata: {{name: paused}}
spec: {{scheme: github, secrets: ["env:{SECRET_VARIABLE}"]}}
---
apiVersion: sereno/v1
kind: Endpoint
metadata: {{name: foreign, tenant: other}}
spec: {{scheme: github, secrets: ["env:{SECRET_VARIABLE}"]}}
"""
_LENGTH = b"content-length:"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer without what differs from one to the next on purpose, and how long it took."""

    status: bytes
    body: bytes
    nanoseconds: int


class Connection:
    """One connection, kept alive, so that nothing but the answer is timed."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")

    def ask(self, request: bytes) -> Answer:
        """Send a request made ready before."""
        began = time.perf_counter_ns()
        self._socket.sendall(request)
        status = self._file.readline()
        taken = time.perf_counter_ns() - began
        length = 0
        while (line := self._file.readline()) != b"\r\n":
            if line.lower().startswith(_LENGTH):
                length = int(line[len(_LENGTH) :])
        return Answer(status, self._file.read(length), taken)


def auc(first: Sequence[int], second: Sequence[int]) -> float:
    """The chance that a value of `first` is larger than one of `second`, ties counted half (Mann-Whitney U)."""
    ranked = sorted([(value, 0) for value in first] + [(value, 1) for value in second])
    total, place = 0.0, 0
    while place < len(ranked):
        end = place
        while end < len(ranked) and ranked[end][0] == ranked[place][0]:
            end += 1
        rank = (place + 1 + end) / 2
        total += rank * sum(1 for _, which in ranked[place:end] if which == 0)
        place = end
    return (total - len(first) * (len(first) + 1) / 2) / (len(first) * len(second))


def measured(plant: Plant, rounds: int) -> Mapping[str, list[int]]:
    """The times of each kind of refusal in nanoseconds. AssertionError when an answer differs from the others."""
    requests = _requests(plant)
    url = urlsplit(plant.sereno.execution_url)
    connection = Connection(str(url.hostname), int(url.port or 80))
    order, times = list(requests), {kind: list[int]() for kind in requests}
    answers = set()
    for number in range(rounds + WARM_UP):
        random.shuffle(order)
        for kind in order:
            answer = connection.ask(requests[kind])
            answers.add((answer.status, answer.body))
            if number >= WARM_UP:
                times[kind].append(answer.nanoseconds)
    assert len(answers) == 1, answers
    assert next(iter(answers))[0].split()[1] == b"401"
    return times


def _requests(plant: Plant) -> dict[str, bytes]:
    applied = plant.sereno.apply(DOCUMENTS)
    urls = {item["name"]: str(item["url"]) for item in applied["objects"] if item["kind"] == "Endpoint"}
    moved = plant.sereno.control("POST", "/v1/endpoints/paused/pause", {"reason": "measured"})
    plant.sereno.in_force({moved["tenant"]: moved["manifest"]})
    known = endpoint_url(applied)
    urls["unknown"] = known[:-8] + "x" * 8
    return {kind: _request(url) for kind, url in sorted(urls.items())}


def _request(url: str) -> bytes:
    """A request whose signature is well-formed and wrong."""
    body = pull_request(1)
    headers = {
        "Host": urlsplit(url).netloc,
        "Content-Length": str(len(body)),
        **github_headers(body, "delivery-1", secret="another"),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {urlsplit(url).path} HTTP/1.1\r\n{lines}\r\n".encode() + body


def main(arguments: Sequence[str]) -> int:
    """Measure, print each pair, and answer 1 when one of them can be told apart."""
    rounds = int(arguments[0]) if arguments else ROUNDS
    with tempfile.TemporaryDirectory() as folder, plant(Path(folder)) as running:
        times = measured(running, rounds)
    worst = 0.0
    for kind, values in times.items():
        ordered = sorted(values)
        middle = ordered[len(ordered) // 2] / 1000
        sys.stdout.write(f"{kind:<8} {len(values)} answers, median {middle:.0f} us\n")
    for first, second in itertools.combinations(times, 2):
        found = auc(times[first], times[second])
        worst = max(worst, abs(found - 0.5))
        sys.stdout.write(f"{first} against {second}: AUC {found:.3f}\n")
    sys.stdout.write(f"furthest from 0.5: {worst:.3f}, allowed {BOUND}\n")
    return 0 if worst <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
