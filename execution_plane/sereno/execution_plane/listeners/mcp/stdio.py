"""A server as a process of ours: an empty environment, a folder that nobody writes to, and an end for all its group.

The SDK's own transport hands six variables on, keeps no bound on an answer, and gives the server our own folder.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from sereno.execution_plane.listeners.mcp.away import SourceAwayError

GRACE_SECONDS = 1.0
"""For the end of a server's input to be understood, and then for SIGTERM."""
_LAST_WORDS = 2_000
_READ_ONLY = 0o555


class Child:
    """A running server; `fault` says why it is not heard any more, as far as we know."""

    def __init__(self, process: asyncio.subprocess.Process, limit: int) -> None:
        self.process = process
        self.fault: str | None = None
        self.last_words = b""
        self.is_lost = False
        """Nobody waits for it to end by itself."""
        self._limit = limit

    async def hear(self, heard: Any) -> None:
        """Hand on each message until the server ends."""
        stdout = self.process.stdout
        if stdout is None:
            raise AssertionError("the server's output is a pipe")
        async with heard:
            while True:
                try:
                    line = await stdout.readline()
                except ValueError:
                    self.fault = f"it answered with more than {self._limit:,} bytes"
                    return
                if not line:
                    return
                with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await heard.send(_message(line))

    async def say(self, to_say: Any) -> None:
        """Write each message to the server."""
        stdin = self.process.stdin
        if stdin is None:
            raise AssertionError("the server's input is a pipe")
        async with to_say:
            async for message in to_say:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                with contextlib.suppress(ConnectionError):
                    stdin.write(text.encode() + b"\n")
                    await stdin.drain()

    async def overhear(self) -> None:
        """Keep what the server said last of its troubles."""
        stderr = self.process.stderr
        while stderr is not None and (part := await stderr.read(4096)):
            self.last_words = (self.last_words + part)[-_LAST_WORDS:]

    async def end(self) -> None:
        """End the server and whatever it started."""
        try:
            await self._ask_to_end()
        finally:
            # The first of the group may be gone and others not; and who is cancelled here leaves nothing behind either.
            self._signal(signal.SIGKILL)
            # What was not read to its end keeps its pipe open, and nothing public closes it.
            transport = getattr(self.process, "_transport", None)
            if transport is not None:
                transport.close()

    async def _ask_to_end(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        for ending in (
            (signal.SIGKILL,) if self.is_lost or self.fault else (None, signal.SIGTERM, signal.SIGKILL)
        ):
            if ending is not None:
                self._signal(ending)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.process.wait(), GRACE_SECONDS)
                break

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


@contextlib.asynccontextmanager
async def started(
    command: Sequence[str], environment: Mapping[str, str], limit: int, told: list[Child]
) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of a server that runs meanwhile, which is put into `told`. Raises `SourceAwayError`."""
    program = shutil.which(command[0])
    if program is None:
        raise SourceAwayError(f"there is no program {command[0]} where the listeners run")
    with _folder() as folder:
        process = await _spawn([program, *command[1:]], environment, limit, folder)
        child = Child(process, limit)
        told.append(child)
        heard_in, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_say, to_say_out = anyio.create_memory_object_stream[SessionMessage](0)
        tasks = [
            asyncio.create_task(work)
            for work in (child.hear(heard_in), child.say(to_say_out), child.overhear())
        ]
        try:
            yield heard, to_say
        finally:
            with anyio.CancelScope(shield=True):
                heard.close()
                to_say.close()
                try:
                    await child.end()
                finally:
                    for task in tasks:
                        task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)


async def _spawn(
    command: Sequence[str], environment: Mapping[str, str], limit: int, folder: Path
) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(environment),
            cwd=folder,
            close_fds=True,
            start_new_session=True,
            limit=limit,
        )
    except OSError as fault:
        raise SourceAwayError(f"{command[0]} cannot be started: {fault.strerror}") from None


@contextlib.contextmanager
def _folder() -> Any:
    """An empty folder that the server stands in and cannot write to."""
    folder = Path(tempfile.mkdtemp(prefix="sereno-mcp-"))
    folder.chmod(_READ_ONLY)
    try:
        yield folder
    finally:
        folder.chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as fault:
        return fault
