"""What every command of the catalog takes besides its own: whose objects, in which form, of which planes. Declared once."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass

from sereno.control_plane.commands.flags import (
    ControlUrl,
    Data,
    ExecutionUrl,
    Json,
    Tenant,
    Token,
    control,
    planes,
)
from sereno.mailbox.cli.client import Client
from sereno.mailbox.cli.discovery import Discovery

NAME = "call"
"""The parameter by which a command takes what `asks` read."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a command: where the planes are, whose objects are meant, and whether programs read the answer."""

    found: Discovery
    tenant: str | None
    json: bool

    @property
    def client(self) -> Client:
        """A client of the control plane. Raises `CommandError` when none is known."""
        return control(self.found)


def _common(
    *,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
) -> Call:
    return Call(planes(control_url, execution_url, token, data), tenant, json)


def asks(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the flags above beside its own, which it is handed as `call`."""
    common = inspect.signature(_common).parameters
    signature = inspect.signature(command)
    own = [parameter for name, parameter in signature.parameters.items() if name != NAME]

    @functools.wraps(command)
    def run(**given: object) -> None:
        flags = {name: given.pop(name) for name in common if name in given}
        command(**given, call=_common(**flags))  # type: ignore[arg-type]  # as the signature below says

    parameters = [*own, *common.values()]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # inspect reads it
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
