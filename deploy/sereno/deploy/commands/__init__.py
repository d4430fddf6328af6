"""The commands that start, stop and inspect an installation."""

from importlib import import_module

import typer

_COMMANDS = ("init", "up", "down", "logs", "serve", "doctor", "demo")


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for name in _COMMANDS:
        import_module(f"{__name__}.{name}").register(app)
