"""Flags that several commands share."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from sereno.deploy.faults import StartError
from sereno.deploy.options import Options
from sereno.mailbox.cli.exits import Exit
from sereno.mailbox.engine.known_settings import UnknownSettingError

Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="Data folder; default SERENO_DATA, else $XDG_STATE_HOME/sereno, for root /var/lib/sereno.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Answer as JSON.")]


def options(**flags: Any) -> Options:
    """The options with the flags that were given. Raises `StartError` naming the setting that is wrong."""
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        return Options(**given)
    except ValidationError as error:
        fault = error.errors()[0]
        name = ".".join(str(part) for part in fault["loc"])
        raise StartError(f"setting {name} (SERENO_{name.upper()}): {fault['msg']}", Exit.BAD_INPUT) from error
    except UnknownSettingError as fault:
        raise StartError(str(fault), Exit.BAD_INPUT) from fault
    except (OSError, ValueError) as fault:
        raise unreadable_configuration(fault) from fault


def unreadable_configuration(fault: Exception) -> StartError:
    """The file that `SERENO_CONFIG` names is missing, closed, or neither JSON nor TOML."""
    why = fault.strerror if isinstance(fault, OSError) else fault
    return StartError(f"{os.environ['SERENO_CONFIG']} cannot be read: {why}", Exit.BAD_INPUT)
