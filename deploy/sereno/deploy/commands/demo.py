"""`sereno demo`."""

import contextlib
import importlib
import time
from typing import Annotated

import typer

from sereno.deploy.faults import StartError
from sereno.deploy.stop_request import StopRequest
from sereno.mailbox.cli.exits import Exit

NAMES = ("wake", "support-queue", "meeting-prep", "mcp-condition")


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command("demo")
    def demo(
        name: Annotated[str, typer.Argument(help=f"Which one: {', '.join(NAMES)}.")] = NAMES[0],
    ) -> None:
        """Run everything in a temporary folder, show each step with its decision, and leave nothing behind."""
        if name not in NAMES:
            raise StartError(
                f"there is no demonstration {name}; there are: {', '.join(NAMES)}", Exit.BAD_INPUT
            )
        _play(name)


def _play(name: str) -> None:
    # What follows loads the database libraries, which other commands need not wait for.
    from rich.console import Console  # noqa: PLC0415

    from sereno.deploy.commands.up import stop_on_signals  # noqa: PLC0415
    from sereno.deploy.demo.stage import stage  # noqa: PLC0415

    module = importlib.import_module(f"sereno.deploy.demo.{name.replace('-', '_')}")
    screen, stop, started = Console(), StopRequest(), time.monotonic()
    stop_on_signals(stop)
    screen.print("Starting PostgreSQL, NATS and both planes in a temporary folder …")
    # What a demonstration needs beside the installation runs as long as that.
    wanting = getattr(module, "options", contextlib.nullcontext)
    with wanting() as more, stage(screen, stop, without=module.WITHOUT, more=more) as running:
        if stop.is_set():
            raise StartError("interrupted")
        took = time.monotonic() - started
        screen.print(
            f"control plane {running.running.control_url}, execution plane {running.running.execution_url}, ready in {took:.1f} s",
            highlight=False,
        )
        module.play(running)
    screen.print(
        f"\n[green]All as it should be[/green], in {time.monotonic() - started:.0f} s. Nothing is left behind.",
        highlight=False,
    )
