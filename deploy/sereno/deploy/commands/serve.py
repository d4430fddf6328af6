"""`sereno serve`: one process of one plane, alone."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
import uvloop
from pydantic import ValidationError

from sereno.deploy.child import GO
from sereno.deploy.faults import StartError
from sereno.mailbox.cli.exits import Exit
from sereno.mailbox.engine import telemetry
from sereno.mailbox.engine.bus import BusUnreachableError
from sereno.mailbox.engine.postgres import DatabaseUnreachableError
from sereno.mailbox.engine.settings import Settings

_UNREACHABLE = (DatabaseUnreachableError, BusUnreachableError)

Run = Callable[[Settings, asyncio.Event], Awaitable[None]]


class Process(StrEnum):
    """The processes that can be run alone."""

    CONTROL = "control"
    GATEWAY = "gateway"
    LISTENERS = "listeners"
    PIPELINE = "pipeline"


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
        if held and sys.stdin.buffer.read() != GO:
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
    """The coroutine of a process; what an import makes stays, so collecting meanwhile would be in vain."""
    gc.disable()
    try:
        return _entry(process)
    finally:
        gc.freeze()
        gc.enable()


def _entry(process: Process) -> Run:
    """The coroutine of a process; only its own plane is imported."""
    if process is Process.CONTROL:
        from sereno.control_plane.process import run  # noqa: PLC0415

        return run
    from sereno.execution_plane.processes import (  # noqa: PLC0415
        run_gateway,
        run_listeners,
        run_pipeline,
    )

    return {
        Process.GATEWAY: run_gateway,
        Process.LISTENERS: run_listeners,
        Process.PIPELINE: run_pipeline,
    }[process]


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
        raise StartError(f"{config} cannot be read: {fault}", Exit.BAD_INPUT) from fault


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
