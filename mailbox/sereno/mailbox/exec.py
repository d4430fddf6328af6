"""`sereno work --exec`: one command a message, in a process group and an environment of its own."""

import asyncio
import contextlib
import os
import secrets
import shlex
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from sereno.mailbox import prompt
from sereno.mailbox.worker import Delivery, Reject, Release

MAX_RESULT_BYTES = 65_536
KEPT_ENVIRONMENT = ("PATH", "HOME", "LANG", "TMPDIR")
TERMINATE_SECONDS = 10.0
_CHUNK = 65_536

Rendering = Literal["json", "prompt"]


@dataclass(frozen=True, slots=True)
class Command:
    """A handler that runs a command line, split like a shell would but run without one.

    It reads the message on stdin, as JSON or as a prompt, and its lease's bearer and the mailbox's
    address in its environment. Exit 0: stdout (at most 64 KiB, JSON if it parses) is the result; 65:
    rejected for good; 75 and any other code: another attempt. When the lease is lost the whole process
    group gets SIGTERM, and SIGKILL after ten seconds.
    """

    arguments: Sequence[str]
    url: str
    rendering: Rendering = "json"

    @classmethod
    def parse(cls, line: str, url: str, rendering: Rendering) -> "Command":
        """Raises ValueError for a line without a command or with an open quote."""
        arguments = shlex.split(line)
        if not arguments:
            raise ValueError("expected a command")
        return cls(arguments, url, rendering)

    async def __call__(self, delivery: Delivery) -> object:
        process = await asyncio.create_subprocess_exec(
            *self.arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=environment(os.environ, delivery.bearer, self.url),
            start_new_session=True,
        )
        try:
            output = await _converse(process, stdin_of(delivery.document, self.rendering))
        finally:
            # Whatever the command left running in its group goes with it.
            await asyncio.shield(asyncio.ensure_future(_end(process)))
        return _result(process.returncode, output)


def environment(outer: Mapping[str, str], bearer: str, url: str) -> dict[str, str]:
    """What a command sees: nothing of ours but its lease and where to use it."""
    kept = {name: outer[name] for name in KEPT_ENVIRONMENT if name in outer}
    return kept | {"SERENO_TOKEN": bearer, "SERENO_URL": url}


def stdin_of(document: Mapping[str, Any], rendering: Rendering) -> bytes:
    """The message as the command reads it; the bearer travels in the environment only."""
    if rendering == "prompt":
        return prompt.render(document, f"SERENO-{secrets.token_hex(12)}").encode()
    lease = {key: value for key, value in document["lease"].items() if key != "bearer"}
    return orjson.dumps({**document, "lease": lease}) + b"\n"


async def _converse(process: asyncio.subprocess.Process, text: bytes) -> bytes:
    """Write stdin and read stdout until the command ends; at most one byte more than a result may have."""
    writing = asyncio.ensure_future(_write(process, text))
    reading = asyncio.ensure_future(_read(process))
    try:
        await process.wait()
        # A child that inherited stdout may hold it open for ever.
        await asyncio.wait({reading}, timeout=1.0)
        return reading.result() if reading.done() else b""
    finally:
        for task in (writing, reading):
            task.cancel()
        await asyncio.wait({writing, reading})


async def _write(process: asyncio.subprocess.Process, text: bytes) -> None:
    if process.stdin is None:
        return
    # A command need not read what it is given.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(text)
        await process.stdin.drain()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.close()


async def _read(process: asyncio.subprocess.Process) -> bytes:
    kept = bytearray()
    if process.stdout is None:
        return b""
    while chunk := await process.stdout.read(_CHUNK):
        kept += chunk[: MAX_RESULT_BYTES + 1 - len(kept)]
    return bytes(kept)


async def _end(process: asyncio.subprocess.Process) -> None:
    _signal_group(process.pid, signal.SIGTERM if process.returncode is None else signal.SIGKILL)
    try:
        async with asyncio.timeout(TERMINATE_SECONDS):
            await process.wait()
    except TimeoutError:
        pass
    _signal_group(process.pid, signal.SIGKILL)
    await process.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _result(code: int | None, output: bytes) -> object:
    """What the command's end means. Raises `Release` or `Reject`."""
    match code:
        case 0 if len(output) > MAX_RESULT_BYTES:
            raise Release(f"failed: the result is larger than {MAX_RESULT_BYTES} bytes")
        case 0:
            return _parsed(output)
        case 65:
            raise Reject
        case 75:
            raise Release("temporary failure: exit 75")
        case None:
            raise Release("failed: the command did not end")
        case _ if code < 0:
            raise Release(f"failed: signal {-code}")
        case _:
            raise Release(f"failed: exit {code}")


def _parsed(output: bytes) -> object:
    try:
        return orjson.loads(output)
    except orjson.JSONDecodeError:
        # The database keeps no NUL character.
        return output.decode(errors="replace").replace("\0", "\ufffd")
