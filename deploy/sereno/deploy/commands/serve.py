"""`sereno serve`: one process of one plane, alone."""

import asyncio
import contextlib
import gc
import os
import signal
from collections.abc import Awaitable, Callable
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
import uvloop
from pydantic import ValidationError

from sereno.deploy.commands.flags import unreadable_configuration
from sereno.deploy.faults import StartError
from sereno.mailbox.cli.exits import Exit
from sereno.mailbox.engine import telemetry, tracing
from sereno.mailbox.engine.bus import BusUnreachableError
from sereno.mailbox.engine.known_settings import UnknownSettingError
from sereno.mailbox.engine.postgres import DatabaseUnreachableError
from sereno.mailbox.engine.settings import Settings

_UNREACHABLE = (DatabaseUnreachableError, BusUnreachableError)

AWAY_SECONDS = 10.0
_PAUSE_SECONDS = 0.5
GO = b"go"
"""What a held process waits for on its standard input."""

_STANDARD_INPUT = 0

Run = Callable[[Settings, asyncio.Event], Awaitable[None]]


class Process(StrEnum):
    """The processes that can be run alone."""

    CONTROL = "control"
    GATEWAY = "gateway"
    LISTENERS = "listeners"
    PIPELINE = "pipeline"
    EVALUATOR = "evaluator"


_ENTRIES = {
    Process.CONTROL: "sereno.control_plane.process",
    Process.GATEWAY: "sereno.execution_plane.gateway_process",
    Process.LISTENERS: "sereno.execution_plane.listeners_process",
    Process.PIPELINE: "sereno.execution_plane.pipeline_process",
    Process.EVALUATOR: "sereno.execution_plane.evaluator_process",
}


# A batch on its way keeps thousands of objects for some milliseconds; to look through them after every 700 new ones,
# as is the default, finds nothing and took a tenth of the work.
_COLLECT_AFTER = (20_000, 20, 20)


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command("serve")
    def serve(
        process: Annotated[Process, typer.Argument(help="Which process to run.")],
        config: Annotated[
            Path | None, typer.Option("--config", help="JSON or TOML file with its settings (SERENO_CONFIG).")
        ] = None,
        held: Annotated[bool, typer.Option("--held", hidden=True)] = False,
    ) -> None:
        """Run one process of a plane in the foreground; SIGTERM ends it."""
        run = _load(process)
        if held and os.read(_STANDARD_INPUT, len(GO)) != GO:
            return
        settings = _settings(config)
        try:
            telemetry.setup(
                process.value, json_logs=settings.json_logs, traces_per_second=settings.traces_per_second
            )
        except ValueError as fault:
            raise StartError(str(fault), Exit.BAD_INPUT) from fault
        try:
            uvloop.run(_until_told(run, settings))
        finally:
            tracing.stop()


def _load(process: Process) -> Run:
    """The coroutine of a process, only its own code being loaded."""
    # What an import makes stays, so collecting meanwhile would be in vain.
    gc.disable()
    try:
        run: Run = import_module(_ENTRIES[process]).run
    finally:
        gc.freeze()
        gc.enable()
    gc.set_threshold(*_COLLECT_AFTER)
    return run


def _settings(config: Path | None) -> Settings:
    if config is not None:
        os.environ["SERENO_CONFIG"] = str(config)
    try:
        return Settings()
    except ValidationError as error:
        fault = error.errors()[0]
        name = ".".join(str(part) for part in fault["loc"])
        raise StartError(f"setting {name}: {fault['msg']}", Exit.BAD_INPUT) from error
    except UnknownSettingError as fault:
        raise StartError(str(fault), Exit.BAD_INPUT) from fault
    except (OSError, ValueError) as fault:
        raise unreadable_configuration(fault) from fault


async def _until_told(run: Run, settings: Settings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await patiently(run, settings, stop)


async def patiently(run: Run, settings: Settings, stop: asyncio.Event) -> None:
    """Run the process; while an engine is away at its start, try again for ten seconds. Raises `StartError`."""
    loop = asyncio.get_running_loop()
    give_up = loop.time() + AWAY_SECONDS
    while not stop.is_set():
        try:
            return await run(settings, stop)
        except (*_UNREACHABLE, BaseExceptionGroup) as fault:
            away = _unreachable(fault)
            if away is None:
                raise
            if loop.time() >= give_up:
                raise StartError(f"{away}; gave up after {AWAY_SECONDS:g} s", Exit.UNREACHABLE) from fault
            telemetry.logger("serve").warning("engine_away", error=str(away))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _PAUSE_SECONDS)
    return None


def _unreachable(fault: BaseException) -> BaseException | None:
    """What says which engine is away, if that is all that `fault` says."""
    if not isinstance(fault, BaseExceptionGroup):
        return fault
    others = fault.split(_UNREACHABLE)[1]
    return _unreachable(fault.exceptions[0]) if others is None else None
