"""The commands against a running control plane: what people read, what programs read, and exit codes."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncEngine
from typer.testing import CliRunner

from sereno.control_plane.api import create_app
from sereno.control_plane.bootstrapping import bootstrap
from sereno.control_plane.commands import in_force
from sereno.deploy.main import build
from sereno.deploy.ports import free_port
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.engine import http_server
from tests.control_documents import AGENT, ALL, ENDPOINT, several, subscription

TOKEN = "srn_" + "c" * 43


@dataclass(frozen=True)
class Said:
    code: int
    out: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Sereno = Callable[..., Awaitable[Said]]


def execution_plane(version: int) -> FastAPI:
    """The one route of the execution plane that these commands ask: its protocol, not its inside."""
    app = FastAPI()

    @app.get("/v1/manifest")
    async def manifest() -> dict[str, Any]:
        return {"default": {"epoch": 1, "version": version, "valid_until": "2099-01-01T00:00:00Z"}}

    return app


async def ready() -> dict[str, str | None]:
    return {}


@pytest.fixture
async def sereno(
    engine: AsyncEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Sereno]:
    """The command line in a folder of its own; the execution plane reports manifest version 2."""
    await bootstrap(engine, hashlib.sha256(TOKEN.encode()).hexdigest())
    stop = asyncio.Event()
    planes = {
        "SERENO_CONTROL_URL": create_app(engine, execution_url="http://hooks.example", ready=ready),
        "SERENO_EXECUTION_URL": execution_plane(2),
    }
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SERENO_TOKEN", TOKEN)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(in_force, "PATIENCE_SECONDS", 0.3)
    async with asyncio.TaskGroup() as tasks:
        for variable, app in planes.items():
            listening = http_server.bind("127.0.0.1", 0)
            monkeypatch.setenv(variable, f"http://127.0.0.1:{listening.getsockname()[1]}")
            tasks.create_task(http_server.serve(app, listening, stop))
        yield run
        stop.set()


async def run(*words: str, given: str | None = None) -> Said:
    app = build()

    def work() -> Said:
        done = CliRunner().invoke(app, words, input=given)
        if isinstance(done.exception, CommandError):
            return Said(done.exception.exit_code, done.exception.message)
        return Said(done.exit_code, done.output)

    return await asyncio.to_thread(work)


def rows(said: Said) -> Sequence[Sequence[str]]:
    return [line.split() for line in said.out.splitlines()]


async def test_declares_looks_and_moves(sereno: Sereno, tmp_path: Path) -> None:
    (tmp_path / "sereno.yaml").write_text(ALL)
    assert (await sereno("diff")).code == 1
    applied = await sereno("apply")
    assert applied.code == 0, applied.out
    table = rows(applied)
    assert table[0] == ["kind", "tenant", "name", "id", "version", "state", "change"]
    assert [[row[2], *row[4:]] for row in table[1:4]] == [
        ["triage", "1", "active", "created"],
        ["zendesk", "1", "active", "created"],
        ["refund-watch", "1", "active", "created"],
    ]
    assert table[4][0] == "zendesk:"
    assert table[4][1].startswith("http://hooks.example/in/")
    assert applied.out.splitlines()[-1].startswith("not in force yet for default")
    assert await sereno("diff") == Said(0, "the catalog is as the files say\n")

    again = (await sereno("apply", "-f", "-", "--json", given=several(AGENT, ENDPOINT))).json
    assert {known["change"] for known in again["objects"]} == {"unchanged"}

    paused = await sereno("sub", "pause", "refund-watch", "--reason", "tests")
    assert paused.out.splitlines()[0] == "refund-watch is paused (version 1)"
    listed = (await sereno("sub", "list", "--json")).json
    assert [(known["name"], known["state"]) for known in listed] == [("refund-watch", "paused")]
    assert rows(await sereno("sub", "list"))[1][:5] == [
        "refund-watch",
        "1",
        "paused",
        "agent:triage",
        "webhook",
    ]
    history = rows(await sereno("sub", "history", "refund-watch"))
    assert [row[3:7] for row in history[1:]] == [
        ["subscription.created", "active", "user:admin"],
        ["subscription.paused", "paused", "user:admin", "tests"],
    ]
    assert rows(await sereno("agent", "list"))[1] == ["triage", "1", "active", "exec", "user:marta"]
    assert "instruction: Draft a reply." in (await sereno("sub", "show", "refund-watch")).out
    assert (await sereno("agent", "show", "triage", "--json")).json["spec"]["adapter"] == "exec"
    shown = (await sereno("webhook", "endpoint", "show", "zendesk", "--json")).json
    assert shown["url"] == table[4][1]
    assert rows(await sereno("webhook", "endpoint", "list"))[1][-1] == shown["url"]


async def test_says_whether_the_execution_plane_works_from_it(
    sereno: Sereno, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sereno.yaml").write_text(AGENT)
    late = (await sereno("apply", "--json")).json
    assert late["manifest"] == {"default": 3}
    assert (late["in_force"], "by itself" in late["hint"]) == (False, True)
    monkeypatch.setenv("SERENO_EXECUTION_URL", _nobody())
    away = await sereno("apply")
    assert away.code == 0
    assert "cannot be asked" in away.out.splitlines()[-1]


def _nobody() -> str:
    return f"http://127.0.0.1:{free_port()}"


async def test_refusals_have_their_exit_code_and_one_sentence_each(
    sereno: Sereno, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "declared"
    folder.mkdir()
    (folder / "a.yaml").write_text(ALL)
    (folder / "b.yaml").write_text(subscription("second", agent="ghost").replace("user:marta", "nobody"))
    broken = await sereno("apply", "-f", str(folder))
    assert broken.code == 2
    assert broken.out.startswith(f"{folder}/b.yaml:5: documents[3].spec.owner: expected a principal")
    (folder / "b.yaml").unlink()
    assert (await sereno("apply", "-f", str(folder))).code == 0
    conflict = await sereno("apply", "-f", "-", given=subscription(metadata=", version: 9"))
    assert (conflict.code, "has version 1, not 9" in conflict.out) == (3, True)
    assert (await sereno("sub", "resume", "refund-watch", "--reason", "x")).code == 3
    assert (await sereno("sub", "delete", "refund-watch", "--reason", "x")).code == 0
    tombstone = await sereno("apply", "-f", str(folder))
    assert (tombstone.code, "--revive" in tombstone.out) == (3, True)
    assert (await sereno("apply", "-f", str(folder), "--revive", "--reason", "back")).code == 0
    for words, code in (
        (("apply", "-f", "none.yaml"), 2),
        (("apply", "-f", str(folder), "--prune"), 2),
        (("apply", "-f", str(folder), "-l", "team"), 2),
        (("apply", "-f", str(folder), "--revive"), 2),
        (("sub", "show", "none"), 2),
        (("sub", "pause", "refund-watch"), 2),
        (("sub", "list", "--token", "srn_wrong"), 3),
        (("sub", "list", "--control-url", _nobody()), 4),
    ):
        assert (await sereno(*words)).code == code, words


async def test_a_dry_run_and_a_diff_change_nothing(sereno: Sereno, tmp_path: Path) -> None:
    (tmp_path / "sereno.yaml").write_text(ALL)
    dry = await sereno("apply", "--dry-run")
    assert dry.out.splitlines()[-1] == "nothing was changed (--dry-run)"
    drift = (await sereno("diff", "--json")).json
    assert [change["change"] for change in drift["changes"]] == ["created"] * 3
    assert (await sereno("sub", "list", "--json")).json == []


STANDUP = """BEGIN:VCALENDAR\r
BEGIN:VEVENT\r
UID:standup\r
DTSTART;TZID=America/New_York:20260301T023000\r
RRULE:FREQ=DAILY\r
END:VEVENT\r
END:VCALENDAR\r
"""


async def test_a_calendar_file_is_applied_and_its_times_are_foretold(sereno: Sereno, tmp_path: Path) -> None:
    standup = subscription("standup").replace("{webhook: {endpoint: zendesk}}", "{time: {ics: standup.ics}}")
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "all.yaml").write_text(several(AGENT, standup))
    missing = await sereno("apply", "-f", "team")
    assert (missing.code, "standup.ics cannot be read" in missing.out) == (2, True)
    (tmp_path / "team" / "standup.ics").write_text(STANDUP, newline="")
    applied = (await sereno("apply", "-f", "team", "--json")).json
    assert [known["change"] for known in applied["objects"]] == ["created", "created"]
    assert await sereno("diff", "-f", "team") == Said(0, "the catalog is as the files say\n")
    told = (
        await sereno("sub", "preview", "standup", "--after", "2027-03-14T00:00:00Z", "--count", "2", "--json")
    ).json
    assert (told["zone"], told["misfire"], told["note"]) == ("America/New_York", "latest", None)
    assert told["times"] == [
        {"instant": "2027-03-14T07:30:00Z", "local": "2027-03-14T03:30:00-04:00", "policy": "gap: shift"},
        {"instant": "2027-03-15T06:30:00Z", "local": "2027-03-15T02:30:00-04:00", "policy": None},
    ]
    shown = rows(await sereno("sub", "preview", "standup", "--after", "2027-03-14T00:00:00Z", "--count", "1"))
    assert shown[1] == ["2027-03-14T03:30:00-04:00", "2027-03-14T07:30:00Z", "gap:", "shift"]
    await sereno("sub", "pause", "standup", "--reason", "tests")
    assert (await sereno("sub", "preview", "standup", "--json")).json["note"].startswith("it is paused")
    assert (await sereno("sub", "preview", "nobody")).code == 2
