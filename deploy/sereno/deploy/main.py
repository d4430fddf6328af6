"""The `sereno` command: it gathers what each part registers, and turns every failure into one sentence."""

import logging
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points

import structlog
import typer
from typer.exceptions import TyperException

from sereno.mailbox.cli.exits import CommandError, Exit

GROUP = "sereno.commands"
_NAME = "sereno"


def build() -> typer.Typer:
    """The command line with the commands of all parts."""
    app = typer.Typer(
        name=_NAME,
        help="Wakes AI agents when something happens, and keeps the keys.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        rich_markup_mode=None,
    )

    @app.callback()
    def root() -> None:
        pass

    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        entry.load()(app)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit: 0 done, 1 fault, 2 bad input, 3 refused, 4 not reachable."""
    _quiet_logs()
    sys.exit(run(build(), arguments))


def run(app: typer.Typer, arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code. What fails is one sentence on stderr."""
    command = typer.main.get_command(app)
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        code = command.main(args=words, prog_name=_NAME, standalone_mode=False)
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
    return code if isinstance(code, int) else Exit.DONE


def _refuse(error: TyperException) -> int:
    """A usage error; a group without a command answers with its help instead."""
    message = error.format_message()
    if message.lstrip().startswith("Usage:"):
        typer.echo(message, err=True)
        return Exit.BAD_INPUT
    return _fail(message.replace("\n", " "), error.exit_code)


def _fail(message: str, code: int) -> int:
    typer.echo(f"{_NAME}: {message}", err=True)
    return code


def _quiet_logs() -> None:
    """Commands speak in sentences; only `serve` sets up logs (engine.telemetry)."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


if __name__ == "__main__":
    main()
