"""`sereno keys rotate`: new keys for an installation that stands still."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from sereno.deploy.commands.flags import Data, Json, options
from sereno.deploy.data_folder import DataFolder
from sereno.deploy.faults import StartError
from sereno.deploy.identities import Identities
from sereno.mailbox.cli.exits import Exit
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_json


class Key(StrEnum):
    """What can be replaced."""

    SNAPSHOT = "snapshot"
    TOKEN = "token"  # noqa: S105 - the name of a kind of key
    AUDIT = "audit"


_SAYS = {
    Key.SNAPSHOT: "manifests are signed by a new key; those of the former are taken until the next rotation",
    Key.TOKEN: "the administrator has a new token, and leases have new bearers; the former ones end",
    Key.AUDIT: "ends of audit chains are signed by new keys; what the former signed until now still counts",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    group(app, "keys", "Keys of this installation.").command("rotate")(rotate)


def rotate(
    which: Annotated[
        list[Key] | None,
        typer.Argument(metavar="[KEY]...", help="snapshot, token, audit; all, if none is named."),
    ] = None,
    *,
    data: Data = None,
    json: Json = False,
) -> None:
    """Replace keys of an installation that is stopped; the next `sereno up` starts with the new ones."""
    folder = DataFolder(options(data=data).data.absolute().resolve())
    folder.refuse_if_held()
    if not folder.secrets.is_dir():
        raise StartError(
            f"{folder.root} holds no installation: its keys are made by 'sereno up'", Exit.BAD_INPUT
        )
    chosen = list(dict.fromkeys(which or Key))
    identities = Identities(folder.secrets)
    for name in chosen:
        _rotate(identities, name)
    if json:
        print_json({"rotated": chosen, "data": str(folder.root)})
        return
    for name in chosen:
        typer.echo(f"{name}: {_SAYS[name]}")


def _rotate(identities: Identities, name: Key) -> None:
    match name:
        case Key.SNAPSHOT:
            identities.rotate_snapshot()
        case Key.TOKEN:
            identities.rotate_token()
        case Key.AUDIT:
            now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            identities.rotate_audit(now)
