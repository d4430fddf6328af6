"""A command line of the house: usage, failures as one sentence on stderr, exit codes of the contract."""

import logging
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import structlog
import typer
from typer.exceptions import TyperException

from sereno.mailbox.cli.exits import CommandError, Exit

NAME = "sereno"
TRACEBACK = "SERENO_TRACEBACK"


def new_app() -> typer.Typer:
    """A command line without commands yet."""
    app = typer.Typer(
        name=NAME,
        help="Wakes AI agents when something happens, and keeps the keys.",
        pretty_exceptions_enable=False,
        add_completion=False,
        rich_markup_mode=None,
    )

    @app.callback()
    def root() -> None:
        pass

    return app


def run(app: typer.Typer, arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code. What fails is one sentence on stderr."""
    command = typer.main.get_command(app)
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        code = command.main(args=words, prog_name=NAME, standalone_mode=False)
    except CommandError as error:
        return _fail(error.message, error.exit_code)
    except TyperException as error:
        return _refuse(error)
    except typer.Exit as error:
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _fail("interrupted", Exit.FAULT)
    except BrokenPipeError:
        return Exit.FAULT
    except Exception as error:
        # A traceback tells people nothing; who mends it asks for it. A process has a log, and there it belongs.
        if os.environ.get(TRACEBACK) or words[0] == "serve":
            raise
        return _fail(f"a fault of Sereno itself, {_named(error)}; {TRACEBACK}=1 shows where", Exit.FAULT)
    return code if isinstance(code, int) else Exit.DONE


def _named(error: BaseException) -> str:
    """The kind of a fault and where it was raised; never its text, which may quote a secret."""
    if isinstance(error, BaseExceptionGroup):
        return _named(error.exceptions[0])
    places = [f" in {Path(at.filename).name}:{at.lineno}" for at in traceback.extract_tb(error.__traceback__)]
    return type(error).__name__ + "".join(places[-1:])


def _refuse(error: TyperException) -> int:
    """A usage error; a group without a command answers with its help instead."""
    message = error.format_message()
    if message.lstrip().startswith("Usage:"):
        typer.echo(message, err=True)
        return Exit.BAD_INPUT
    return _fail(message.replace("\n", " "), error.exit_code)


def _fail(message: str, code: int) -> int:
    typer.echo(f"{NAME}: {message}", err=True)
    return code


def quiet_logs() -> None:
    """Commands speak in sentences; only `serve` sets up logs (engine.telemetry)."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
