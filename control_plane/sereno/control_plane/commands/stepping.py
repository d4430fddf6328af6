"""One step in the life of a declared object, and what is said once it is in force."""

from collections.abc import Mapping
from typing import Any

import typer

from sereno.control_plane.commands import in_force
from sereno.control_plane.commands.flags import control
from sereno.mailbox.cli.client import segment
from sereno.mailbox.cli.discovery import Discovery
from sereno.mailbox.cli.output import print_json


def step(  # noqa: PLR0917 - the object, the verb and why
    found: Discovery, path: str, name: str, verb: str, tenant: str | None, reason: str, **more: str
) -> Mapping[str, Any]:
    """Take the step; what the control plane answered."""
    answer: Mapping[str, Any] = control(found).post(
        f"{path}/{segment(name, 'NAME')}/{verb}", {"reason": reason, **more}, tenant=tenant
    )
    return answer


def state(answer: Mapping[str, Any]) -> str:
    """In which state the object is now, as a sentence."""
    return f"{answer['name']} is {answer['state']} (version {answer['version']})"


def told(found: Discovery, answer: Mapping[str, Any], *lines: str, json: bool) -> None:
    """Wait until the execution plane works from the answer's manifest, and print what was done and whether it does."""
    behind = in_force.wait(found, {answer["tenant"]: answer["manifest"]})
    if json:
        print_json({**answer, "in_force": behind is None, "hint": behind})
        return
    for line in (*lines, behind or "in force on the execution plane"):
        typer.echo(line)
