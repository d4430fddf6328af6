"""Connected sources against servers of npm: `make torture-mcp-node` installs them and runs this.

`SERENO_TEST_MCP_NODE` names the folder of their node modules.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.connectors import SourceClock, connector, spec, watching
from tests.engines import Engines
from tests.integration.pipeline.conftest import open_plane

NODE_MODULES = os.environ["SERENO_TEST_MCP_NODE"]


@pytest.fixture
async def clock(engines: Engines) -> AsyncIterator[SourceClock]:
    async with open_plane(engines) as plane:
        clock = SourceClock(plane)
        yield clock
        await clock.close()


async def test_files_of_a_folder_over_the_filesystem_server(clock: SourceClock, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("1")
    server = node("server-filesystem", str(tmp_path))
    listed: dict[str, Any] = {
        "tool": "list_directory",
        "arguments": {"path": str(tmp_path)},
        "items": "lines.filter(line, line.startsWith('[FILE]'))",
        "id": "item",
    }
    writing: dict[str, Any] = {
        **listed,
        "tool": "write_file",
        "arguments": {"path": str(tmp_path / "x"), "content": "y"},
    }
    await clock.plane.in_force(
        connector("items", spec(server, "list_directory", "write_file")), watching("files", **listed)
    )
    await clock.poll()
    assert await clock.fault() is None
    (tmp_path / "two.txt").write_text("2")
    await clock.poll()
    assert await clock.woken() == [("files", "[FILE] two.txt")]
    await clock.plane.in_force(
        connector("items", spec(server, "list_directory", "write_file")), watching("w", **writing)
    )
    await clock.poll()
    assert "changes something (write)" in (await clock.fault() or "")
    assert not (tmp_path / "x").exists()


async def test_entities_of_the_memory_server_and_an_answer_of_the_everything_server(
    clock: SourceClock, tmp_path: Path
) -> None:
    memory = tmp_path / "memory.jsonl"
    memory.write_text('{"type":"entity","name":"acme","entityType":"customer","observations":[]}\n')
    graph: dict[str, Any] = {"tool": "read_graph", "items": "result.entities", "id": "item.name"}
    echoed: dict[str, Any] = {
        "tool": "echo",
        "arguments": {"message": "hello"},
        "items": "lines",
        "id": "item",
    }
    await clock.plane.in_force(
        connector(
            "memory", spec(node("server-memory"), "read_graph", environment={"MEMORY_FILE_PATH": str(memory)})
        ),
        connector("everything", spec(node("server-everything"), "echo")),
        watching("entities", connector="memory", **graph),
        watching("echo", connector="everything", first={"backfill": 1}, **echoed),
    )
    await clock.poll()
    assert [row["fault"] for row in await clock.plane.rows("select fault from execution.mcp_source")] == [
        None
    ] * 2
    with memory.open("a") as file:
        file.write('{"type":"entity","name":"globex","entityType":"customer","observations":[]}\n')
    await clock.poll()
    assert await clock.woken() == [("echo", "Echo: hello"), ("entities", "globex")]


def node(server: str, *words: str) -> list[str]:
    return ["node", f"{NODE_MODULES}/@modelcontextprotocol/{server}/dist/index.js", *words]
