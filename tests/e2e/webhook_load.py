"""Many signed webhooks over many connections, each answer timed.

The sender writes its requests ready-made to bare connections: it shares two cores with what it measures, and a
comfortable HTTP client would take more of them than the servers.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.e2e.running import github_headers, pull_request

_LENGTH = b"content-length:"


@dataclass(frozen=True, slots=True)
class Load:
    """What a load brought: the answers' codes, and their times in seconds, both in the order of the answers."""

    codes: tuple[int, ...]
    times: tuple[float, ...]
    seconds: float

    @property
    def rate(self) -> float:
        """Requests per second."""
        return len(self.codes) / self.seconds

    def quantile(self, share: float) -> float:
        """The answer time that this share of the requests did not exceed."""
        return quantile(self.times, share)


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


async def send(url: str, *, count: int, connections: int, first: int = 1) -> Load:
    """Send `count` different pull requests, numbered from `first`, over so many connections."""
    host, port = urlsplit(url).hostname, urlsplit(url).port
    waiting = iter([_request(url, number) for number in range(first, first + count)])
    streams = [await asyncio.open_connection(host, port) for _ in range(connections)]
    answers: list[tuple[int, float]] = []
    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for reader, writer in streams:
            group.create_task(_converse(reader, writer, waiting, answers))
    seconds = time.perf_counter() - began
    for _, writer in streams:
        writer.close()
    return Load(tuple(code for code, _ in answers), tuple(taken for _, taken in answers), seconds)


async def _converse(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    waiting: Iterator[bytes],
    answers: list[tuple[int, float]],
) -> None:
    for request in waiting:
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(_body_length(head))
        answers.append((int(head.split(b" ", 2)[1]), time.perf_counter() - began))


def _body_length(head: bytes) -> int:
    lines = [line for line in head.split(b"\r\n") if line.lower().startswith(_LENGTH)]
    return int(lines[0][len(_LENGTH) :])


def _request(url: str, number: int) -> bytes:
    body = pull_request(number)
    headers = {
        "Host": urlsplit(url).netloc,
        "Content-Length": str(len(body)),
        **github_headers(body, f"delivery-{number}"),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {urlsplit(url).path} HTTP/1.1\r\n{lines}\r\n".encode() + body
