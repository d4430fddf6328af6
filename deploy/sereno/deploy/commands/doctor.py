"""`sereno doctor`."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from sereno.deploy.commands.flags import Data, Json, options
from sereno.deploy.data_folder import DataFolder
from sereno.deploy.finding import Finding
from sereno.deploy.origins import Setting, effective
from sereno.mailbox.cli.exits import Exit
from sereno.mailbox.cli.output import print_json, print_table


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command("doctor")
    def doctor(data: Data = None, json: Json = False) -> None:
        """Show the settings in force and where they come from, and check what runs; exit 1 when something is wrong, 4 when nothing runs."""
        # The database libraries take a second to load, which other commands need not wait for.
        from sereno.deploy import configuration  # noqa: PLC0415
        from sereno.deploy.doctor import examine  # noqa: PLC0415

        chosen = options(data=data)
        folder = DataFolder(chosen.data.absolute().resolve())
        discovery = folder.read_discovery()
        processes = configuration.read_all(folder) if discovery else {}
        settings = list(effective(chosen, {"data": data}, processes=processes))
        findings = (
            asyncio.run(examine(discovery, _seed(discovery), folder.root))
            if discovery
            else _nothing_runs(str(chosen.data))
        )
        if json:
            print_json(
                {"settings": [asdict(one) for one in settings], "checks": [asdict(one) for one in findings]}
            )
        else:
            _print(settings, findings)
        if not all(finding.fine for finding in findings):
            raise typer.Exit(Exit.FAULT if discovery else Exit.UNREACHABLE)


def _seed(discovery: dict[str, Any]) -> str | None:
    file = discovery.get("nats_seed_file")
    return Path(file).read_text(encoding="ascii").strip() if file else None


def _nothing_runs(folder: str) -> Sequence[Finding]:
    return [Finding("installation", False, f"nothing runs in {folder}", "start it with 'sereno up'")]


def _print(settings: Sequence[Setting], findings: Sequence[Finding]) -> None:
    print_table(
        ("setting", "value", "from", "running with"),
        [(setting.name, setting.value, setting.origin, setting.running) for setting in settings],
    )
    typer.echo("")
    rows = [("ok" if one.fine else "WRONG", one.check, one.found, one.advice) for one in findings]
    print_table(("", "check", "found", "what to do"), rows)
