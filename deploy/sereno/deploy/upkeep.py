"""While an installation runs: streams and the bucket that somebody deletes are made again.

Only who installed it may make them, so none of its processes can; they say at `/readyz` what is missing.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator

from nats.errors import Error as NatsError

from sereno.deploy.stop_request import StopRequest
from sereno.mailbox.engine import bus
from sereno.mailbox.engine.bus import BusUnreachableError

LOOK_SECONDS = 2.0


@contextlib.contextmanager
def upkeep(url: str, seed: str | None, say: Callable[[str], None]) -> Iterator[None]:
    """Look after them, in a thread, until the end of the body."""
    stop = StopRequest()
    thread = threading.Thread(target=_look_after, args=(url, seed, stop, say), name="upkeep", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _look_after(url: str, seed: str | None, stop: StopRequest, say: Callable[[str], None]) -> None:
    while not stop.wait(LOOK_SECONDS):
        with contextlib.suppress(BusUnreachableError, NatsError, OSError, TimeoutError):
            for name in asyncio.run(_make_missing(url, seed)):
                say(f"{name} was missing on NATS and is made again; what was in it is lost")


async def _make_missing(url: str, seed: str | None) -> list[str]:
    client = await bus.connect(url, name="sereno-up", seed=seed)
    try:
        return list(await bus.make_missing(client.jetstream()))
    finally:
        await client.close()
