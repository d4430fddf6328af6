"""The `sereno` command: it gathers what each part registers."""

import sys
from collections.abc import Sequence
from importlib.metadata import entry_points

import typer

from sereno.deploy.command_line import new_app, quiet_logs, run

GROUP = "sereno.commands"
# What starts and stops an installation should not wait for what talks to one.
_FIRST = "deploy"
# Both planes have commands under these words: endpoints are declared on one and receive on the other.
_SHARED = frozenset({"webhook"})


def build(word: str | None = None) -> typer.Typer:
    """The command line with the commands of all parts, or of as many as it takes to know `word`."""
    app = new_app()
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name != _FIRST, entry.name)):
        entry.load()(app)
        if word is not None and word not in _SHARED and word in _names(app):
            break
    return app


def _names(app: typer.Typer) -> set[str | None]:
    return {command.name for command in app.registered_commands} | {
        group.name for group in app.registered_groups
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit: 0 done, 1 fault, 2 bad input, 3 refused, 4 not reachable."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    quiet_logs()
    sys.exit(run(build(words[0] if words else None), words))


if __name__ == "__main__":
    main()
