"""The listeners of an installation on a clock that a demonstration drives; everything else keeps its own time."""

import asyncio
import contextlib
import json
import threading
from collections.abc import Iterator
from datetime import datetime

from sereno.deploy import configuration
from sereno.deploy.data_folder import DataFolder
from sereno.deploy.demo.stage import Stage, UnexpectedError
from sereno.execution_plane import listeners_process
from sereno.mailbox.engine.settings import Settings


class Clock:
    """The time by which the listeners act."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    async def __call__(self) -> datetime:
        return self.now


@contextlib.contextmanager
def driven_listeners(stage: Stage, clock: Clock) -> Iterator[None]:
    """The listeners run by this clock until the end of the block. Raises `UnexpectedError` when they fail."""
    settings = _settings(stage)
    ready = threading.Event()
    handle: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
    failed: list[Exception] = []

    async def run() -> None:
        stop = asyncio.Event()
        handle.append((asyncio.get_running_loop(), stop))
        ready.set()
        await listeners_process.run(settings, stop, clock)

    def work() -> None:
        try:
            asyncio.run(run())
        except Exception as fault:  # noqa: BLE001 - told by the thread that waits
            failed.append(fault)

    thread = threading.Thread(target=work, name="listeners")
    thread.start()
    ready.wait()
    try:
        yield
    finally:
        ((loop, stop),) = handle
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(stop.set)
        thread.join()
    if failed:
        raise UnexpectedError(f"the listeners failed: {failed[0]}") from failed[0]


def _settings(stage: Stage) -> Settings:
    folder = DataFolder((stage.folder / "data").resolve())
    written = json.loads(configuration.path(folder, "listeners").read_bytes())
    return Settings(**{name: value for name, value in written.items() if value is not None})
