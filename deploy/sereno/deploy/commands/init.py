"""`sereno init`."""

from pathlib import Path
from typing import Annotated

import typer

from sereno.deploy.commands.flags import Json
from sereno.deploy.faults import StartError
from sereno.mailbox.cli.exits import Exit
from sereno.mailbox.cli.output import print_json
from sereno.subscriptions.example import EXAMPLE

FILE_NAME = "sereno.yaml"


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command("init")
    def init(
        folder: Annotated[Path, typer.Argument(help="Where to write it.", metavar="[DIR]")] = Path(),
        json: Json = False,
    ) -> None:
        """Write a commented example of an agent, an endpoint and two subscriptions."""
        path = folder / FILE_NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as stream:
                stream.write(EXAMPLE)
        except FileExistsError:
            raise StartError(f"{path} exists already and stays as it is", Exit.REFUSED) from None
        except OSError as fault:
            raise StartError(f"{path} cannot be written: {fault.strerror}", Exit.BAD_INPUT) from fault
        if json:
            print_json({"written": str(path)})
        else:
            typer.echo(f"wrote {path}; next: sereno up, then sereno apply -f {path}")
