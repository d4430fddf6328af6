"""What demonstrations on a driven clock share: declaring, setting the clock, and waiting for what wakes."""

import shlex
import sys
from collections.abc import Mapping
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from rich.table import Table

from sereno.deploy.demo.driven_listeners import Clock
from sereno.deploy.demo.stage import Stage


def declare(stage: Stage, document: str, values: Mapping[str, str]) -> None:
    """Apply a document of the demonstrations, filled in."""
    text = files("sereno.deploy.demo").joinpath(document).read_text(encoding="utf-8")
    path = stage.folder / document
    path.write_text(Template(text).substitute(values))
    table = Table("kind", "name", "version", "state", box=None, pad_edge=False)
    for known in stage.json("apply", "-f", str(path))["objects"]:
        table.add_row(known["kind"], known["name"], str(known["version"]), known["state"])
    stage.screen.print(table)


def strike(stage: Stage, clock: Clock, now: datetime, what: str) -> None:
    """Set the clock and say so."""
    clock.now = now
    stage.title(f"It is {now:%A %Y-%m-%d %H:%M} UTC: {what}")


def agent_command() -> str:
    """The agent of the demonstrations as a command line."""
    return shlex.join([sys.executable, str(Path(str(files("sereno.deploy.demo").joinpath("agent.py"))))])


def acked(stage: Stage, agent: str, count: int) -> Mapping[str, Any]:
    """Wait until so many messages of the agent are acknowledged, and show the last; its decision."""

    def look() -> Mapping[str, Any] | None:
        listed = stage.execution().get(f"/v1/mailboxes/{agent}/messages")["messages"]
        done = [one for one in listed if one["state"] == "acked"]
        return max(done, key=lambda one: str(one["id"])) if len(done) >= count else None

    message = stage.until(look, f"wake-up number {count}")
    explained: Mapping[str, Any] = stage.execution().get(f"/v1/explain/{message['id']}")
    (decision,) = explained["decisions"]
    stage.screen.print(
        f"[green]{decision['outcome']}[/green]: {decision['sentence']}", highlight=False, soft_wrap=True
    )
    return explained
