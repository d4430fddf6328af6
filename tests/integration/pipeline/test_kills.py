"""The pipeline killed at its fault points, again and again: nothing is lost and nothing comes twice."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import TypeVar

import pytest

from sereno.envelope.envelope import Envelope
from sereno.execution_plane.pipeline import Consumer
from sereno.mailbox.engine import faults
from tests.engines import Engines
from tests.integration.pipeline.conftest import Plane, open_plane
from tests.integration.pipeline.test_consumer import drained, running
from tests.passages import declared, received

T = TypeVar("T")
KILLS = 20
EVENTS = 5
# A killed process gives nothing back; the stream hands it out again after this.
ACK_WAIT_SECONDS = 1.0


def on_plane(engines: Engines, work: Callable[[Plane], Awaitable[T]]) -> T:
    async def run() -> T:
        async with open_plane(engines) as plane:
            return await work(plane)

    return asyncio.run(run())


def consumer(plane: Plane) -> Consumer:
    return Consumer(plane.pool, plane.pipeline, plane.catalog, ack_wait_seconds=ACK_WAIT_SECONDS)


async def consume_for_ever(plane: Plane, events: Sequence[Envelope]) -> None:
    await plane.publish(*events)
    await plane.catalog.refresh(plane.pool)
    await consumer(plane).run(asyncio.Event())


def consume_until_killed(engines: Engines, point: str, events: Sequence[Envelope]) -> int:
    """Publish, and run a pipeline, in a process that dies at `point`; the signal that ended it."""
    child = os.fork()
    if child == 0:
        faults._WANTED, faults._AT = point, 1
        on_plane(engines, lambda plane: consume_for_ever(plane, events))
        os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status)


@pytest.mark.req(22, 26)
@pytest.mark.parametrize("point", ["pipeline.after_decide", "pipeline.after_commit", "pipeline.after_ack"])
def test_killed_pipeline_neither_loses_nor_doubles(engines: Engines, point: str) -> None:
    async def declare(plane: Plane) -> None:
        await plane.in_force(
            declared("refund-watch", limits={"cooldown": {"every": "7m"}}), declared("ticket-log")
        )

    on_plane(engines, declare)
    for kill in range(KILLS):
        numbers = range(kill * EVENTS, (kill + 1) * EVENTS)
        events = [received(n, after=timedelta(minutes=n)) for n in numbers]
        assert consume_until_killed(engines, point, events) == signal.SIGKILL

    async def finish(plane: Plane) -> list[tuple[str, str, str]]:
        await plane.catalog.refresh(plane.pool)
        async with running(consumer(plane)):
            await drained(plane)
        return await plane.outcomes()

    outcomes = on_plane(engines, finish)
    everything = KILLS * EVENTS
    logged = [event for event, name, reason in outcomes if (name, reason) == ("ticket-log", "delivered")]
    assert logged == [f"e-{number}" for number in range(everything)]
    assert len(outcomes) == 2 * everything

    async def messages(plane: Plane) -> tuple[int, int]:
        return await plane.count("mailbox.message"), await plane.count("mailbox.work")

    delivered = sum(reason == "delivered" for _, _, reason in outcomes)
    assert on_plane(engines, messages) == (delivered, delivered)
