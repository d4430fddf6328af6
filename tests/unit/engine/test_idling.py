import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from sereno.mailbox.engine.idling import Idling


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each pause would have been; none of them takes any time."""
    seconds: list[float] = []

    async def at_once(waiting: Coroutine[Any, Any, Any], pause: float) -> None:
        waiting.close()
        seconds.append(pause)
        raise TimeoutError

    monkeypatch.setattr(asyncio, "wait_for", at_once)
    return seconds


async def test_pauses_grow_while_there_is_nothing_and_are_short_again_after_work(waited: list[float]) -> None:
    idle, stop = Idling(0.05, 0.25), asyncio.Event()
    for _ in range(4):
        await idle.pause(stop)
    idle.worked()
    await idle.pause(stop)
    assert waited == [0.05, 0.1, 0.2, 0.25, 0.05]


async def test_a_stop_ends_a_pause() -> None:
    stop = asyncio.Event()
    stop.set()
    await asyncio.wait_for(Idling(600, 600).pause(stop), 30)
