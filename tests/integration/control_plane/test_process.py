"""The whole process: what it committed leaves it, also when it is killed on the way out."""

import asyncio
import contextlib
import hashlib
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from nats.aio.client import Client
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.applying import Applied
from sereno.control_plane.publishing.bucket import Bucket
from sereno.deploy.ports import free_port
from sereno.envelope.stored import loads_batch
from sereno.envelope.types import SUBSCRIPTION_CHANGED
from sereno.mailbox.engine.bus import INGRESS
from sereno.mailbox.engine.outbox import POSITION_HEADER
from sereno.subscriptions import snapshot
from tests.control_documents import ALL, subscription
from tests.engines import Engines
from tests.integration.control_plane.conftest import Apply

TOKEN = "srn_" + "b" * 43
ROUNDS = 2
# One that waits for an engine gives up after ten seconds of its own; a loaded machine starts six slowly.
PATIENCE_SECONDS = 240


@pytest.fixture
def environment(engines: Engines, tmp_path: Path) -> Mapping[str, str]:
    """What the process is told, as `sereno up` tells it."""
    key = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "key.pem").write_bytes(key)
    (tmp_path / "admin.sha256").write_text(hashlib.sha256(TOKEN.encode()).hexdigest())
    (tmp_path / "control.seed").write_text(engines.seed("control") or "")
    seed = {"SERENO_NATS_SEED_FILE": str(tmp_path / "control.seed")} if engines.seed("control") else {}
    return {
        "PATH": os.environ["PATH"],
        "SERENO_POSTGRES": engines.control_dsn,
        "SERENO_NATS": engines.nats,
        "SERENO_CONTROL_PORT": str(free_port()),
        "SERENO_SIGNING_KEY_FILE": str(tmp_path / "key.pem"),
        "SERENO_ADMIN_TOKEN_SHA256_FILE": str(tmp_path / "admin.sha256"),
        **seed,
    }


async def start(environment: Mapping[str, str], fault: str = "") -> asyncio.subprocess.Process:
    arguments = ("-m", "sereno.deploy.main", "serve", "control")
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        env={**environment, "SERENO_FAULT": fault},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str]:
    """Its exit code and what it said; killed when it does not end by itself."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, said.decode()


@pytest.fixture
async def client(environment: Mapping[str, str]) -> AsyncIterator[httpx.AsyncClient]:
    url = f"http://127.0.0.1:{environment['SERENO_CONTROL_PORT']}"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=60) as client:
        yield client


async def until_ready(client: httpx.AsyncClient, process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while process.returncode is None:
            with contextlib.suppress(httpx.TransportError):
                if (await client.get("/readyz")).status_code == 200:
                    return
            await asyncio.sleep(0.05)
    raise AssertionError((await ended(process))[1])


async def drained(engine: AsyncEngine) -> None:
    """Wait until the outbox has nothing unpublished."""
    waiting = text("select count(*) from control.outbox where published_at is null")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            async with engine.connect() as connection:
                if (await connection.execute(waiting)).scalar_one() == 0:
                    return
            await asyncio.sleep(0.05)


async def ingress(operator: Client) -> list[tuple[str, bytes]]:
    """Every message of the stream: its outbox position and its payload."""
    jetstream = operator.jetstream()
    state = (await jetstream.stream_info(INGRESS)).state
    messages = [await jetstream.get_msg(INGRESS, seq) for seq in range(state.first_seq, state.last_seq + 1)]
    return [((message.headers or {})[POSITION_HEADER], message.data or b"") for message in messages]


@pytest.mark.parametrize("point", ["outbox.after_commit", "outbox.after_publish"])
async def test_a_kill_on_the_way_out_loses_and_invents_nothing(
    applying: Apply, engine: AsyncEngine, operator: Client, environment: Mapping[str, str], point: str
) -> None:
    await applying(ALL)
    for round_ in range(ROUNDS):
        code, said = await ended(await start(environment, point))
        assert code == -signal.SIGKILL, said
        assert isinstance(await applying(subscription(instruction=f"Text {round_}.")), Applied)
    survivor = await start(environment)
    await drained(engine)
    survivor.terminate()
    code, said = await ended(survivor)
    assert code == 0, said
    published = await ingress(operator)
    by_position = dict(published)
    assert [payload for _, payload in published] == [by_position[position] for position, _ in published]
    changes = [envelope for payload in by_position.values() for envelope in loads_batch(payload)]
    revisions = sorted(int(change.id.rpartition("/")[2]) for change in changes)
    assert revisions == list(range(1, ROUNDS + 2)), "each change, once, whoever died"
    assert {change.type for change in changes} == {SUBSCRIPTION_CHANGED}
    assert {(change.origin, change.trust, change.actorid) for change in changes} == {
        ("platform", "platform", "user:admin")
    }
    again = len(published) - len(by_position)
    assert (again > 0) == (point == "outbox.after_publish"), "a repeated item is known by its position"


async def test_serves_publishes_and_ends_on_sigterm(
    client: httpx.AsyncClient, environment: Mapping[str, str], operator: Client
) -> None:
    process = await start(environment)
    await until_ready(client, process)
    answer = await client.post("/v1/apply", json={"documents": ALL})
    assert answer.status_code == 200, answer.text
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await published_version(operator) < answer.json()["manifest"]["default"]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    process.terminate()
    code, said = await ended(process)
    assert code == 0, said
    assert TOKEN not in said
    assert hashlib.sha256(TOKEN.encode()).hexdigest() not in said


async def published_version(operator: Client) -> int:
    written = await Bucket(operator).manifest("default")
    signed = snapshot.loads(written) if written else None
    if not isinstance(signed, snapshot.SignedManifest):
        return 0
    return snapshot.Manifest.model_validate_json(signed.payload).version


async def test_says_in_one_sentence_why_it_cannot_start(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    (tmp_path / "empty").write_text("")
    nobody = f"127.0.0.1:{free_port()}"
    # Only where a port is what is wrong is one given that may be taken: what is checked first must not matter.
    quiet = {**environment, "SERENO_CONTROL_PORT": "0"}
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        wrong = {
            "Ed25519 private key": ({"SERENO_SIGNING_KEY_FILE": str(tmp_path / "empty")}, 2),
            "SERENO_SIGNING_KEY_FILE": ({"SERENO_SIGNING_KEY_FILE": ""}, 2),
            "64 hexadecimal digits": ({"SERENO_ADMIN_TOKEN_SHA256_FILE": str(tmp_path / "empty")}, 2),
            f"127.0.0.1:{port}": ({"SERENO_CONTROL_PORT": str(port)}, 2),
            f"PostgreSQL at {nobody}": ({"SERENO_POSTGRES": f"postgresql://x:hidden@{nobody}/x"}, 4),
            f"NATS at {nobody}": ({"SERENO_NATS": f"nats://{nobody}"}, 4),
        }
        await asyncio.gather(
            *(refuses({**quiet, **changed}, code, said) for said, (changed, code) in wrong.items())
        )


async def refuses(environment: Mapping[str, str], expected: int, said: str) -> None:
    given = {name: value for name, value in environment.items() if value}
    code, sentence = await ended(await start(given))
    assert code == expected, sentence
    [line] = [line for line in sentence.splitlines() if line.startswith("sereno:")]
    assert said in line
    assert "hidden" not in sentence
    assert "Traceback" not in sentence
