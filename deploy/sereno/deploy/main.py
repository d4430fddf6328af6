"""The `sereno` command: it gathers what each part registers."""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points

import typer

from sereno.deploy.command_line import new_app, quiet_logs, run

GROUP = "sereno.commands"
"""Entry points of parts: a mapping of the first word of commands to the module whose `register(app)` adds them."""
_FIRST = "deploy"


def build(word: str | None = None) -> typer.Typer:
    """The command line with the commands under `word`, from every part that has some; with all where nobody knows it.

    A command does not wait for what the others import.
    """
    app = new_app()
    parts = sorted(entry_points(group=GROUP), key=lambda entry: (entry.name != _FIRST, entry.name))
    words: list[Mapping[str, str]] = [part.load() for part in parts]
    known = any(word in part for part in words)
    for part in words:
        for module in dict.fromkeys(name for at, name in part.items() if not known or at == word):
            import_module(module).register(app)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit: 0 done, 1 fault, 2 bad input, 3 refused, 4 not reachable."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    quiet_logs()
    sys.exit(run(build(words[0] if words else None), words))


if __name__ == "__main__":
    main()
