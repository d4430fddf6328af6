"""`sereno up` as a person meets it: ready, closed to strangers, restarting what crashes, whole after kill -9."""

import asyncio
import json
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import httpx
import pytest
from nats.errors import Error as NatsError
from nats.js.errors import APIError

from sereno.deploy.identities import Identities
from sereno.mailbox.engine import bus
from tests.integration.deploy.installations import Up, alive, sereno, until, up

pytestmark = pytest.mark.timeout(600)

AGENT = """
apiVersion: sereno/v1
kind: Agent
metadata: {name: clerk}
spec: {owner: "user:admin", adapter: exec, description: Files what comes in.}
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with up(tmp_path_factory.mktemp("up") / "data") as installation:
        yield installation


def test_discovery_names_everything_and_holds_no_secret(running: Up) -> None:
    found = running.discovery
    for url in (found["control_url"], found["execution_url"]):
        assert httpx.get(f"{url}/readyz", trust_env=False).status_code == 200
    assert set(found["pids"]) == {"up", "postgres", "nats", "control", "gateway", "listeners", "pipeline"}
    text = (running.data / "sereno.json").read_text()
    kept = [path.read_bytes() for path in (running.data / "secrets").iterdir()]
    assert kept
    assert not any(secret.strip() and secret.strip() in text.encode() for secret in kept)


def test_only_the_owner_reads_the_data_folder(running: Up) -> None:
    assert stat.S_IMODE(running.data.stat().st_mode) == 0o700
    for folder in ("secrets", "config"):
        for path in (running.data / folder).iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_arguments_of_processes_hold_no_secret(running: Up) -> None:
    identities = Identities(running.data / "secrets")
    secrets = [identities.superuser_password, *identities.role_passwords.values(), *identities.seeds.values()]
    for pid in running.discovery["pids"].values():
        shown = Path(f"/proc/{pid}/cmdline").read_bytes().decode()
        assert not any(secret in shown for secret in secrets)


def test_a_folder_in_use_is_refused(running: Up) -> None:
    second = sereno("up", data=running.data)
    assert second.returncode == 3
    assert second.stderr.count("\n") == 1
    assert str(running.data) in second.stderr
    assert "sereno down" in second.stderr


def test_a_port_in_use_is_refused(running: Up, tmp_path: Path) -> None:
    port = running.discovery["control_url"].rpartition(":")[2]
    second = sereno("up", "--control-port", port, data=tmp_path / "data")
    assert second.returncode == 3
    assert second.stderr == (
        f"sereno: Port {port} on 127.0.0.1 is in use by another program: choose another with --control-port, "
        "0 taking a free one.\n"
    )


async def test_postgres_lets_no_stranger_in(running: Up) -> None:
    bare = running.discovery["postgres"].partition("?")[0]
    for user in ("sereno", "sereno_control", "sereno_execution", "sereno_worker", "postgres"):
        for password in ("", user, "postgres"):
            address = bare.replace("//sereno@", f"//{user}:{password}@")
            with pytest.raises(asyncpg.InvalidPasswordError):
                await asyncpg.connect(address, passfile=str(running.data / "none"))
    assert not list((running.data / "postgres").rglob(".s.PGSQL*"))


async def test_nats_lets_no_stranger_in(running: Up) -> None:
    with pytest.raises(bus.BusUnreachableError):
        await bus.connect(running.discovery["nats"], name="stranger")
    with pytest.raises(bus.BusUnreachableError):
        await bus.connect(
            running.discovery["nats"],
            name="stranger",
            seed="SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY",
        )


async def test_each_process_does_on_nats_only_what_is_its_own(running: Up) -> None:
    seeds = Identities(running.data / "secrets").seeds
    for process, subject in (
        ("gateway", f"$KV.{bus.MANIFESTS}.manifest.default"),
        ("listeners", f"$KV.{bus.MANIFESTS}.manifest.default"),
        ("pipeline", "sereno.ingress.default"),
        ("control", "sereno.reports.execution.default"),
    ):
        client = await bus.connect(running.discovery["nats"], name="test", seed=seeds[process])
        try:
            with pytest.raises((NatsError, TimeoutError)):
                await client.jetstream(timeout=1).publish(subject, b"forged")
        finally:
            await client.close()


async def test_the_gateway_cannot_read_the_ingress(running: Up) -> None:
    seed = Identities(running.data / "secrets").seeds["gateway"]
    client = await bus.connect(running.discovery["nats"], name="test", seed=seed)
    try:
        heard = await client.subscribe("sereno.ingress.>")
        with pytest.raises((APIError, NatsError, TimeoutError)):
            await client.jetstream(timeout=1).pull_subscribe(
                "sereno.ingress.*", durable="spy", stream=bus.INGRESS
            )
        with pytest.raises((NatsError, asyncio.TimeoutError)):
            await heard.next_msg(timeout=0.5)
    finally:
        await client.close()


def test_the_admin_api_lets_no_stranger_in(running: Up) -> None:
    for token in (None, "srn_" + "x" * 43):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        answer = httpx.post(
            f"{running.discovery['control_url']}/v1/apply",
            json={"documents": AGENT},
            headers=headers,
            trust_env=False,
        )
        assert answer.status_code == 401


def test_doctor_finds_everything_in_order(running: Up) -> None:
    answer = sereno(
        "doctor", "--json", data=running.data, SERENO_POSTGRES="postgresql://u:not-to-be-shown@h/d"
    )
    found = json.loads(answer.stdout)
    assert answer.returncode == 0, answer.stdout
    assert all(check["fine"] for check in found["checks"])
    settings = {setting["name"]: setting for setting in found["settings"]}
    assert settings["postgres"]["origin"] == "SERENO_POSTGRES"
    assert "not-to-be-shown" not in answer.stdout
    # What runs is configured by `up`, whatever this shell has set since.
    port = running.discovery["control_url"].rpartition(":")[2]
    assert settings["control_port"]["running"] == port
    assert settings["nats"]["running"] == running.discovery["nats"]
    assert settings["postgres"]["running"] == "**********"
    seeds = settings["nats_seed_file"]["running"]
    assert f"gateway: {Identities(running.data / 'secrets').seed_file('gateway')}" in seeds
    assert not any(
        word in answer.stdout for word in Identities(running.data / "secrets").role_passwords.values()
    )


def test_logs_are_printed_by_process(running: Up) -> None:
    answer = sereno("logs", "control", "-n", "5", data=running.data)
    assert answer.returncode == 0
    assert '"process": "control"' in answer.stdout
    unknown = sereno("logs", "nobody", data=running.data)
    assert unknown.returncode == 2
    assert "nobody" in unknown.stderr


def test_a_killed_process_is_started_again(running: Up) -> None:
    before = running.discovery["pids"]["gateway"]
    os.kill(before, signal.SIGKILL)

    def restarted() -> bool | None:
        return True if running.discovery["pids"]["gateway"] != before else None

    until(restarted, "the restart of the gateway")

    def ready() -> bool | None:
        try:
            url = running.discovery["execution_url"]
            return True if httpx.get(f"{url}/readyz", trust_env=False).status_code == 200 else None
        except httpx.TransportError:
            return None

    until(ready, "the gateway's readiness")


def test_a_killed_postgres_is_started_again(running: Up) -> None:
    before = running.discovery["pids"]["postgres"]
    os.kill(before, signal.SIGKILL)
    until(
        lambda: True if running.discovery["pids"]["postgres"] != before else None, "the restart of PostgreSQL"
    )

    def ready() -> bool | None:
        url = running.discovery["control_url"]
        return True if httpx.get(f"{url}/readyz", trust_env=False).status_code == 200 else None

    until(ready, "the control plane's readiness")


def test_kill_minus_nine_loses_nothing_and_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    data = tmp_path / "a folder"
    documents = tmp_path / "agent.yaml"
    documents.write_text(AGENT)
    with up(data) as first:
        assert sereno("apply", "-f", str(documents), data=data).returncode == 0
        left = first.discovery["pids"]
        token = first.token
        first.process.kill()
        first.process.wait()
        assert alive(left["postgres"])
        with up(data) as second:
            assert not any(alive(pid) for pid in left.values())
            assert second.token == token
            shown = sereno("agent", "show", "clerk", "--json", data=data)
            assert shown.returncode == 0, shown.stderr
            own = second.discovery["pids"]
            assert sereno("down", data=data).returncode == 0
            assert second.process.wait() == 0
            assert not any(alive(pid) for pid in own.values())
            assert not (data / "sereno.json").exists()
    assert "nothing runs" in sereno("down", data=data).stdout
