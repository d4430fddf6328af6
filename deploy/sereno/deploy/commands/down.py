"""`sereno down`."""

import os
import signal
import time
from typing import Annotated

import typer

from sereno.deploy.commands.flags import Data, Json, options
from sereno.deploy.data_folder import DataFolder
from sereno.deploy.faults import StartError
from sereno.deploy.leftovers import end_leftovers
from sereno.mailbox.cli.output import print_json

_POLL_SECONDS = 0.05


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command("down")
    def down(
        data: Data = None,
        wait: Annotated[float, typer.Option(min=1, help="How long to wait for the end, in seconds.")] = 60.0,
        json: Json = False,
    ) -> None:
        """Stop what `sereno up` started with this data folder."""
        folder = DataFolder(options(data=data).data.absolute().resolve())
        stopped = _stop(folder, wait)
        if json:
            print_json({"stopped": stopped})
        else:
            typer.echo(f"stopped {folder.root}" if stopped else f"nothing runs in {folder.root}")


def _stop(folder: DataFolder, seconds: float) -> bool:
    """Whether anything ran."""
    holder = folder.holder()
    if holder is None:
        return bool(end_leftovers(folder))
    os.kill(holder, signal.SIGTERM)
    give_up = time.monotonic() + seconds
    while folder.holder() == holder:
        if time.monotonic() > give_up:
            raise StartError(f"process {holder} did not stop within {seconds:.0f} s: see {folder.logs}")
        time.sleep(_POLL_SECONDS)
    return True
