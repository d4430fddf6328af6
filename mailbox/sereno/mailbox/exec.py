"""`sereno work --exec`: one command a message, in a process group and an environment of its own."""

import asyncio
import contextlib
import os
import secrets
import shlex
import signal
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from sereno.mailbox import prompt
from sereno.mailbox.client import MailboxRefusedError
from sereno.mailbox.engine import tracing
from sereno.mailbox.worker import Delivery, Reject, Release

MAX_RESULT_BYTES = 65_536
KEPT_ENVIRONMENT = ("PATH", "HOME", "LANG", "TMPDIR")
TERMINATE_SECONDS = 10.0
LINGER_SECONDS = 1.0
_CHUNK = 65_536
NO_TRACE: Mapping[str, str] = {}

Rendering = Literal["json", "prompt"]


@dataclass(frozen=True, slots=True)
class Command:
    """A handler that runs a command line, split like a shell would but run without one.

    It reads the message on stdin, as JSON or as a prompt, and its lease's bearer, the mailbox's address and the
    trace of its run (`TRACEPARENT`) in its environment. Exit 0: stdout (at most 64 KiB, JSON if it parses) is the result, and what
    an object there says under `usage` and `emit` is reported and sent; 65: rejected for good; 75 and any
    other code: another attempt. When the lease is lost the whole process group gets SIGTERM, and SIGKILL
    after ten seconds.
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
        # Stdin is a file and stdout our own pipe: asyncio's `wait` ends only when the last pipe of its own
        # is closed, which a child that the command left behind may never do.
        reader, writer = os.pipe()
        with tempfile.TemporaryFile() as stdin:
            stdin.write(stdin_of(delivery.document, self.rendering))
            stdin.seek(0)
            try:
                process = await asyncio.create_subprocess_exec(
                    *self.arguments,
                    stdin=stdin,
                    stdout=writer,
                    env=environment(os.environ, delivery.bearer, self.url, tracing.headers()),
                    start_new_session=True,
                )
            except BaseException:
                os.close(reader)
                raise
            finally:
                os.close(writer)
        try:
            output = await _output(process, reader)
        finally:
            # Whatever the command left running in its group goes with it.
            await asyncio.shield(asyncio.ensure_future(_end(process)))
        result = _result(process.returncode, output)
        for event in events_in(result):
            await _emit(delivery, event)
        return result


def environment(
    outer: Mapping[str, str], bearer: str, url: str, trace: Mapping[str, str] = NO_TRACE
) -> dict[str, str]:
    """What a command sees: nothing of ours but its lease, where to use it, and the trace to which its run belongs.

    `TRACEPARENT` and `TRACESTATE` are the names of OpenTelemetry's specification (environment variables as carriers).
    """
    kept = {name: outer[name] for name in KEPT_ENVIRONMENT if name in outer}
    carried = {name.upper(): value for name, value in trace.items()}
    return kept | carried | {"SERENO_TOKEN": bearer, "SERENO_URL": url}


def stdin_of(document: Mapping[str, Any], rendering: Rendering) -> bytes:
    """The message as the command reads it; the bearer travels in the environment only."""
    if rendering == "prompt":
        return prompt.render(document, f"SERENO-{secrets.token_hex(12)}").encode()
    lease = {key: value for key, value in document["lease"].items() if key != "bearer"}
    return orjson.dumps({**document, "lease": lease}) + b"\n"


@dataclass(frozen=True, slots=True)
class Emission:
    """One event that a result asks to send."""

    type: str
    data: object
    subject: str | None


def events_in(result: object) -> list[Emission]:
    """The events under `emit` in a result: one object or a list, each `{type, data?, subject?}`. Raises `Release`."""
    asked = result.get("emit", []) if isinstance(result, dict) else []
    return [
        _emission(place, event) for place, event in enumerate(asked if isinstance(asked, list) else [asked])
    ]


def _emission(place: int, event: object) -> Emission:
    match event:
        case {"type": str(kind), **rest} if kind and rest.keys() <= {"data", "subject"}:
            subject = rest.get("subject")
            if subject is None or isinstance(subject, str):
                return Emission(kind, rest.get("data"), subject)
    raise Release(f"failed: emit[{place}]: expected an object of type, data and subject")


async def _emit(delivery: Delivery, event: Emission) -> None:
    try:
        await delivery.emit(event.type, event.data, subject=event.subject)
    except MailboxRefusedError as refused:
        raise Release(f"failed: emit refused: {refused}") from refused


async def _output(process: asyncio.subprocess.Process, reader: int) -> bytes:
    """What the command wrote until it ended; at most one byte more than a result may have."""
    stream = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    pipe, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(reader, "rb", buffering=0)
    )
    kept = bytearray()
    reading = asyncio.ensure_future(_read(stream, kept))
    try:
        await process.wait()
        await asyncio.wait({reading}, timeout=LINGER_SECONDS)
    finally:
        reading.cancel()
        pipe.close()
    return bytes(kept)


async def _read(stream: asyncio.StreamReader, kept: bytearray) -> None:
    while chunk := await stream.read(_CHUNK):
        kept += chunk[: MAX_RESULT_BYTES + 1 - len(kept)]


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
