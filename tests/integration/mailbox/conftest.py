"""A mailbox on a fresh database, as the role that owns it in production sees it, and its HTTP face on a port."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI

from sereno.mailbox.audit.intents import intents
from sereno.mailbox.bearer import LeaseBearers
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import problems
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.http import router
from sereno.mailbox.principal import Principal
from sereno.mailbox.verbs import Mailbox
from tests.engines import Engines
from tests.waiting import until

BEARERS = LeaseBearers(b"k" * 32)
PRINCIPALS = {
    "worker-token": Principal("agent:triage", "acme"),
    "narrow-token": Principal("agent:other", "acme", frozenset({"other"})),
    "admin-token": Principal("user:admin"),
}
COMMAND_LINE = "from sereno.deploy.main import main; main()"


@pytest.fixture
async def pool(engines: Engines) -> AsyncIterator[AnyPool]:
    pool = await open_pool(engines.execution_dsn, application_name="tests", max_size=8)
    try:
        yield pool
    finally:
        await pool.close()


@pytest.fixture
def mailbox(pool: AnyPool) -> Mailbox:
    return Mailbox(pool, poll_seconds=0.2)


@pytest.fixture
async def url(mailbox: Mailbox) -> AsyncIterator[str]:
    """The worker API over `mailbox`, on a free port of the loopback."""

    async def authenticate(bearer: str) -> Principal | None:
        return PRINCIPALS.get(bearer)

    app = FastAPI()
    problems.install(app)
    app.include_router(
        router(
            mailbox,
            authenticate,
            bearers=BEARERS,
            knows_agent=lambda _tenant, agent: agent in {"triage", "other"},
            intent=intents(mailbox.pool, "execution"),
        )
    )
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", lifespan="off")
    )
    # Not `serve`: that takes over the signals which tests of a worker send.
    serving = asyncio.create_task(server._serve())
    await until(lambda: server.started)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await serving


@dataclass(frozen=True)
class CommandLine:
    """Starts `sereno` commands of the mailbox against the API."""

    url: str
    folder: Path
    started: list[asyncio.subprocess.Process]

    async def start(self, *arguments: str, token: str = "worker-token") -> asyncio.subprocess.Process:
        environment = os.environ | {
            "SERENO_EXECUTION_URL": self.url,
            "SERENO_TOKEN": token,
            "SERENO_DATA": str(self.folder),
            "SERENO_SECRET_OF_THE_WORKER": "must-not-be-seen",
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            COMMAND_LINE,
            *arguments,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        self.started.append(process)
        return process

    async def run(self, *arguments: str, token: str = "worker-token") -> tuple[int | None, str, str]:
        process = await self.start(*arguments, token=token)
        out, err = await asyncio.wait_for(process.communicate(), 180)
        return process.returncode, out.decode(), err.decode()


@pytest.fixture
async def sereno(url: str, tmp_path: Path) -> AsyncIterator[CommandLine]:
    line = CommandLine(url, tmp_path, [])
    yield line
    for process in line.started:
        if process.returncode is None:
            process.kill()
        await process.wait()
