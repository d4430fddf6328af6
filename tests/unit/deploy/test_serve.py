"""`serve` waits for engines that are away for a moment, and says so when they stay away."""

import asyncio

import pytest

from sereno.deploy.commands import serve
from sereno.deploy.faults import StartError
from sereno.mailbox.cli.exits import Exit
from sereno.mailbox.engine.bus import BusUnreachableError
from sereno.mailbox.engine.postgres import DatabaseUnreachableError
from sereno.mailbox.engine.settings import Settings

DATABASE_AWAY = DatabaseUnreachableError("PostgreSQL at db:5432/sereno does not answer: refused")


class Starting:
    """A process that cannot start as often as it is told."""

    def __init__(self, *faults: BaseException) -> None:
        self.faults = list(faults)
        self.starts = 0

    async def __call__(self, _settings: Settings, _stop: asyncio.Event) -> None:
        self.starts += 1
        if self.faults:
            raise self.faults.pop(0)


async def test_an_engine_that_is_away_for_a_moment_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "_PAUSE_SECONDS", 0.01)
    grouped = BaseExceptionGroup("starting", [BusUnreachableError("NATS at n does not answer: refused")])
    process = Starting(DATABASE_AWAY, grouped)
    await serve.patiently(process, Settings(), asyncio.Event())
    assert process.starts == 3


async def test_one_that_stays_away_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "AWAY_SECONDS", 0.0)
    with pytest.raises(StartError, match="refused; gave up after 0 s") as raised:
        await serve.patiently(Starting(DATABASE_AWAY), Settings(), asyncio.Event())
    assert raised.value.exit_code == Exit.UNREACHABLE


async def test_another_fault_ends_the_process_at_once() -> None:
    process = Starting(BaseExceptionGroup("running", [DATABASE_AWAY, KeyError("ours")]))
    with pytest.raises(BaseExceptionGroup):
        await serve.patiently(process, Settings(), asyncio.Event())
    assert process.starts == 1


async def test_whoever_is_told_to_stop_waits_no_longer() -> None:
    stop = asyncio.Event()
    stop.set()
    process = Starting()
    await serve.patiently(process, Settings(), stop)
    assert process.starts == 0
