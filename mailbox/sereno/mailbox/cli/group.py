"""Groups of commands: one word, under which several parts may have commands."""

import typer


def group(app: typer.Typer, name: str, about: str) -> typer.Typer:
    """The group of this name; another part may have begun it."""
    for known in app.registered_groups:
        if known.name == name and known.typer_instance is not None:
            return known.typer_instance
    begun = typer.Typer(help=about, no_args_is_help=True)
    app.add_typer(begun, name=name)
    return begun
