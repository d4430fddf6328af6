"""Connected sources against the servers that people run."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.connectors import SourceClock, connector, spec, watching
from tests.integration.pipeline.conftest import Plane

BIN = Path(sys.executable).parent
AUTHOR = {"GIT_AUTHOR_NAME": "marta", "GIT_AUTHOR_EMAIL": "m@example.com"}
COMMITTER = {"GIT_COMMITTER_NAME": "marta", "GIT_COMMITTER_EMAIL": "m@example.com"}


@pytest.fixture
async def clock(plane: Plane) -> AsyncIterator[SourceClock]:
    clock = SourceClock(plane, {"TOKEN": "let-me-in"}, ("127.0.0.0/8",))
    yield clock
    await clock.close()


def git(folder: Path, *words: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **AUTHOR, **COMMITTER}
    return subprocess.run(
        ["git", "-C", str(folder), *words], check=True, capture_output=True, text=True, env=environment
    ).stdout.strip()


def commit(folder: Path, name: str, message: str) -> str:
    (folder / name).write_text(message)
    git(folder, "add", name)
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


async def test_commits_of_a_repository_over_the_git_server(clock: SourceClock, tmp_path: Path) -> None:
    folder = tmp_path / "payments"
    folder.mkdir()
    git(folder, "init", "-q")
    commit(folder, "a", "Begin")
    server = spec([str(BIN / "mcp-server-git"), "--repository", str(folder)], "git_log", "git_status")
    commits: dict[str, Any] = {
        "tool": "git_log",
        "arguments": {"repo_path": str(folder), "max_count": 20},
        "items": "records",
        "id": "item.commit",
        "time": "item.date",
    }
    writing: dict[str, Any] = {
        **commits,
        "tool": "git_commit",
        "arguments": {"repo_path": str(folder), "message": "x"},
    }
    await clock.plane.in_force(connector("items", server), watching("commits", **commits))
    await clock.poll()
    assert await clock.fault() is None
    assert await clock.woken() == []
    made = [commit(folder, name, f"Change {name}\n\nCommit: it is not one.") for name in ("b", "c")]
    await clock.poll()
    assert await clock.woken() == sorted(("commits", one) for one in made)
    (row, _) = await clock.plane.rows("select envelopes from mailbox.message order by id")
    data = row["envelopes"][0]["data"]
    assert data["author"] == "marta"
    assert "Commit: it is not one." in data["message"]
    # It is killed, and read on.
    for child in psutil.Process().children(recursive=True):
        if "mcp-server-git" in " ".join(child.cmdline()):
            child.send_signal(signal.SIGKILL)
    made.append(commit(folder, "d", "Change d"))
    await clock.poll()
    await clock.poll(timedelta(hours=1))
    assert await clock.woken() == sorted(("commits", one) for one in made)
    # A tool that writes is refused though a person listed it as one that reads.
    allowed = spec([str(BIN / "mcp-server-git"), "--repository", str(folder)], "git_commit")
    await clock.plane.in_force(connector("items", allowed, version=2), watching("writer", **writing))
    await clock.poll()
    assert "changes something (commit)" in (await clock.fault() or "")
    assert git(folder, "rev-parse", "HEAD") == made[-1]


async def test_the_time_server_is_polled_and_each_minute_is_another_version(clock: SourceClock) -> None:
    asked: dict[str, Any] = {
        "tool": "get_current_time",
        "arguments": {"timezone": "Europe/Madrid"},
        "items": "[result]",
        "id": "item.timezone",
        "time": "item.datetime",
    }
    watched = watching("clock", **asked)
    watched.spec["source"]["mcp"]["version"] = "item.datetime"
    await clock.plane.in_force(
        connector("items", spec([str(BIN / "mcp-server-time")], "get_current_time")), watched
    )
    await clock.poll()
    before = await clock.source()
    assert (before["fault"], before["observations"]) == (None, 1)
    while not await clock.woken():
        await clock.poll()
    (row, *_) = await clock.plane.rows("select envelopes from mailbox.message")
    assert row["envelopes"][0]["data"]["timezone"] == "Europe/Madrid"


async def test_a_server_on_the_web_is_asked_with_its_credential_and_only_where_it_was_opened(
    clock: SourceClock,
) -> None:
    async with web_server() as url:
        written = spec(["x"], "list_items")
        written["transport"] = {"http": {"url": url, "credentials": {"Authorization": "env:TOKEN"}}}
        await clock.plane.in_force(connector("items", written), watching("new", first={"backfill": 1}))
        await clock.poll()
        assert await clock.fault() is None
        assert await clock.woken() == [("new", "let-me-in")]
        closed = SourceClock(clock.plane, {"TOKEN": "let-me-in"})
        await closed.sources().observe(clock.now + timedelta(minutes=5))
        await closed.close()
        assert "SERENO_CONNECTOR_NETWORKS" in (await clock.fault() or "")


WEB = """
import sys
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("web")


@server.tool()
def list_items(context: Context) -> dict[str, list[dict[str, str]]]:
    \"\"\"The items.\"\"\"
    return {"items": [{"id": context.request_context.request.headers["authorization"]}]}


server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
"""


class web_server:  # noqa: N801 - a context
    """A server of the SDK that answers with the credential that it was shown."""

    async def __aenter__(self) -> str:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", WEB, str(port), stderr=asyncio.subprocess.DEVNULL
        )
        async with asyncio.timeout(60):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.1)
                else:
                    writer.close()
                    return f"http://127.0.0.1:{port}/mcp"

    async def __aexit__(self, *_: object) -> None:
        self.process.kill()
        await self.process.wait()
