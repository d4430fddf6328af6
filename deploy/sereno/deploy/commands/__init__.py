"""The commands that start, stop and inspect an installation."""

import typer

from sereno.deploy.commands import demo, doctor, down, init, logs, serve, up


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for module in (init, up, down, logs, serve, doctor, demo):
        module.register(app)
