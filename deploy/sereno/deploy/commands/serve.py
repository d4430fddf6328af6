"""`sereno serve`: one process of one plane, alone."""

import asyncio
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
from sereno.mailbox.engine import telemetry
from sereno.mailbox.engine.bus import BusUnreachableError
from sereno.mailbox.engine.postgres import DatabaseUnreachableError
from sereno.mailbox.engine.settings import Settings

_UNREACHABLE = (DatabaseUnreachableError, BusUnreachableError)

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


_ENTRIES = {
    Process.CONTROL: "sereno.control_plane.process",
    Process.GATEWAY: "sereno.execution_plane.gateway_process",
    Process.LISTENERS: "sereno.execution_plane.listeners_process",
    Process.PIPELINE: "sereno.execution_plane.pipeline_process",
}


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
        telemetry.setup(process.value, json_logs=settings.json_logs)
        try:
            uvloop.run(_until_told(run, settings))
        except _UNREACHABLE as fault:
            raise StartError(str(fault), Exit.UNREACHABLE) from fault
        except BaseExceptionGroup as group:
            away = group.subgroup(_UNREACHABLE)
            if away is None:
                raise
            raise StartError(_first(away), Exit.UNREACHABLE) from group


def _load(process: Process) -> Run:
    """The coroutine of a process, only its own code being loaded."""
    # What an import makes stays, so collecting meanwhile would be in vain.
    gc.disable()
    try:
        run: Run = import_module(_ENTRIES[process]).run
    finally:
        gc.freeze()
        gc.enable()
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
    except (OSError, ValueError) as fault:
        raise unreadable_configuration(fault) from fault


async def _until_told(run: Run, settings: Settings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await run(settings, stop)


def _first(fault: BaseException) -> str:
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    return str(fault)
