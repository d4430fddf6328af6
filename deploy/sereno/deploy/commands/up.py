"""`sereno up`."""

import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from sereno.deploy import private_file
from sereno.deploy.commands.flags import Data, Json, options
from sereno.deploy.data_folder import DataFolder
from sereno.deploy.faults import StartError
from sereno.deploy.forked_process import ForkedProcess, fork
from sereno.deploy.options import Options
from sereno.deploy.stop_request import StopRequest
from sereno.deploy.tail import last_lines
from sereno.mailbox.cli.exits import Exit
from sereno.mailbox.cli.output import print_json

_DETACHED_SECONDS = 120.0
_POLL_SECONDS = 0.05


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command("up")
    def up(
        *,
        data: Data = None,
        postgres: Annotated[
            str | None, typer.Option(help="DSN of an existing PostgreSQL; it is not started then.")
        ] = None,
        nats: Annotated[
            str | None, typer.Option(help="URL of an existing NATS; it is not started then.")
        ] = None,
        control_port: Annotated[
            int | None,
            typer.Option(min=0, max=65535, help="Port of the control plane (7700); 0 takes a free one."),
        ] = None,
        execution_port: Annotated[
            int | None,
            typer.Option(min=0, max=65535, help="Port of the execution plane (7701); 0 takes a free one."),
        ] = None,
        detach: Annotated[bool, typer.Option("--detach", help="Return once everything is ready.")] = False,
        json: Json = False,
    ) -> None:
        """Start everything on this machine and stay; Ctrl-C stops it."""
        chosen = options(
            data=data, postgres=postgres, nats=nats, control_port=control_port, execution_port=execution_port
        )
        if detach:
            _detach(chosen, json=json)
        else:
            _stay(chosen, json=json)


def _stay(chosen: Options, *, json: bool) -> None:
    # The database libraries take a second to load, which other commands need not wait for.
    from sereno.deploy.up import installation, keep_running  # noqa: PLC0415

    stop = StopRequest()
    stop_on_signals(stop)
    with installation(chosen, stop, _say, forking=True) as running:
        if not stop.is_set():
            _announce(running.discovery(), json=json)
            keep_running(chosen, running, stop, _say)
        _say("stopping")


def stop_on_signals(stop: StopRequest) -> None:
    """Set `stop` at SIGTERM, Ctrl-C and when the terminal goes away."""

    def told(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, told)


def _say(sentence: str) -> None:
    typer.echo(f"sereno: {sentence}", err=True)


def _announce(discovery: dict[str, Any], *, json: bool) -> None:
    if json:
        print_json(discovery)
    else:
        typer.echo(f"control plane    {discovery['control_url']}")
        typer.echo(f"execution plane  {discovery['execution_url']}")
        typer.echo(f"admin token in   {discovery['token_file']}")
    sys.stdout.flush()


def _detach(chosen: Options, *, json: bool) -> None:
    # Loaded here, so that the process that stays has it already.
    from sereno.deploy import up as _  # noqa: F401, PLC0415

    folder = DataFolder(chosen.data.absolute().resolve())
    folder.make()
    folder.refuse_if_held()
    folder.log("up").unlink(missing_ok=True)
    with private_file.append_to(folder.log("up")) as output, Path(os.devnull).open("rb") as nothing:
        process = fork(lambda: _stay_alone(chosen), reading=nothing.fileno(), output=output)
    _announce(_await_discovery(process, folder), json=json)


def _stay_alone(chosen: Options) -> int:
    try:
        _stay(chosen, json=False)
    except StartError as fault:
        _say(fault.message)
        return fault.exit_code
    return Exit.DONE


def _await_discovery(process: ForkedProcess, folder: DataFolder) -> dict[str, Any]:
    give_up = time.monotonic() + _DETACHED_SECONDS
    while time.monotonic() < give_up:
        code = process.poll()
        if code is not None:
            known = code in set(Exit)
            raise StartError(_sentence(folder), Exit(code) if known else Exit.FAULT)
        found = folder.read_discovery()
        if found is not None and found["pids"]["up"] == process.pid:
            return found
        time.sleep(_POLL_SECONDS)
    raise StartError(f"not ready within {_DETACHED_SECONDS:.0f} s: see {folder.log('up')}")


def _sentence(folder: DataFolder) -> str:
    return "".join(last_lines(folder.log("up"), 1)).removeprefix("sereno: ") or "it ended while it started"
