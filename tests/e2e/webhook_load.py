"""Many signed webhooks over many connections, each answer timed."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import httpx

from tests.e2e.running import github_headers, pull_request


@dataclass(frozen=True, slots=True)
class Load:
    """What a load brought: the answers' codes, and their times in seconds, both in the order of the answers."""

    codes: tuple[int, ...]
    times: tuple[float, ...]
    seconds: float

    @property
    def rate(self) -> float:
        return len(self.codes) / self.seconds

    def quantile(self, share: float) -> float:
        """The answer time that this share of the requests did not exceed."""
        return quantile(self.times, share)


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


async def send(url: str, *, count: int, connections: int, first: int = 1) -> Load:
    """Send `count` different pull requests, numbered from `first`, over so many connections."""
    requests = [(body, github_headers(body, f"delivery-{n}")) for n, body in _bodies(first, count)]
    waiting = iter(requests)
    codes: list[int] = []
    times: list[float] = []

    async def sender(client: httpx.AsyncClient) -> None:
        for body, headers in waiting:
            began = time.perf_counter()
            answer = await client.post(url, content=body, headers=headers)
            times.append(time.perf_counter() - began)
            codes.append(answer.status_code)

    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    async with httpx.AsyncClient(timeout=30.0, trust_env=False, limits=limits) as client:
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(connections):
                group.create_task(sender(client))
        return Load(tuple(codes), tuple(times), time.perf_counter() - began)


def _bodies(first: int, count: int) -> list[tuple[int, bytes]]:
    return [(number, pull_request(number)) for number in range(first, first + count)]
