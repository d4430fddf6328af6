"""`sereno logs`."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Annotated

import typer

from sereno.deploy.commands.flags import Data, options
from sereno.deploy.data_folder import DataFolder
from sereno.deploy.faults import StartError
from sereno.deploy.tail import last_lines
from sereno.mailbox.cli.exits import Exit

_POLL_SECONDS = 0.2


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command("logs")
    def logs(
        process: Annotated[
            str | None, typer.Argument(help="control, gateway, listeners, pipeline, postgres, nats or up.")
        ] = None,
        follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is written.")] = False,
        lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How many lines of each.")] = 50,
        data: Data = None,
    ) -> None:
        """Print the logs of the processes of this installation."""
        files = _files(DataFolder(options(data=data).data.absolute().resolve()), process)
        ends = {name: path.stat().st_size for name, path in files.items()}
        for name, path in files.items():
            for line in last_lines(path, lines) if lines else ():
                typer.echo(_line(name, line, alone=len(files) == 1))
        for name, line in _grown(files, ends) if follow else ():
            typer.echo(_line(name, line, alone=len(files) == 1))


def _files(folder: DataFolder, process: str | None) -> Mapping[str, Path]:
    found = {path.stem: path for path in sorted(folder.logs.glob("*.log"))}
    if process is not None and process not in found:
        known = ", ".join(found) or "none yet"
        raise StartError(f"there is no log of {process} in {folder.logs}; there are: {known}", Exit.BAD_INPUT)
    if not found:
        raise StartError(f"there are no logs in {folder.logs}: start Sereno with 'sereno up'", Exit.BAD_INPUT)
    return {process: found[process]} if process is not None else found


def _line(name: str, line: str, *, alone: bool) -> str:
    return line if alone else f"{name:<10} {line}"


def _grown(files: Mapping[str, Path], ends: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Lines as they are written, for ever; a log that was put aside is read from its beginning."""
    streams: dict[str, IO[str]] = {}
    for name, path in files.items():
        streams[name] = path.open(encoding="utf-8", errors="replace")
        streams[name].seek(ends[name])
    while True:
        quiet = True
        for name, path in files.items():
            for line in streams[name]:
                quiet = False
                yield name, line.rstrip("\n")
            if path.exists() and path.stat().st_size < streams[name].tell():
                streams[name].close()
                streams[name] = path.open(encoding="utf-8", errors="replace")
        if quiet:
            time.sleep(_POLL_SECONDS)
