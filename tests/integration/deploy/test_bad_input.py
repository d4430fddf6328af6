"""What a person can get wrong at the start: one clear sentence each, the contract's exit code, nothing started."""

import socket
from pathlib import Path

import pytest

from sereno.deploy.servers import ANSWER_SECONDS
from tests.integration.deploy.installations import sereno

pytestmark = pytest.mark.timeout(600)


def refused(code: int, *words: str, data: Path, **extra: str) -> str:
    answer = sereno(*words, data=data, **extra)
    assert answer.returncode == code, answer.stderr
    assert answer.stdout == ""
    assert answer.stderr.startswith("sereno: ")
    assert answer.stderr.count("\n") == 1, answer.stderr
    assert not list(data.rglob("PG_VERSION")) if data.exists() else True
    return answer.stderr


def test_a_dsn_that_does_not_answer(tmp_path: Path) -> None:
    dsn = "postgresql://someone:not-to-be-shown@127.0.0.1:1/sereno"
    sentence = refused(4, "up", "--postgres", dsn, data=tmp_path)
    assert "127.0.0.1:1" in sentence
    assert "not-to-be-shown" not in sentence


def test_a_dsn_behind_which_nobody_speaks(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        dsn = f"postgresql://someone@127.0.0.1:{silent.getsockname()[1]}/sereno"
        assert "no answer in time" in refused(4, "up", "--postgres", dsn, data=tmp_path)
    assert ANSWER_SECONDS < 10, "ten are promised, starting included"


def test_a_malformed_dsn(tmp_path: Path) -> None:
    sentence = refused(2, "up", data=tmp_path, SERENO_POSTGRES="host=db password=not-to-be-shown")
    assert "postgresql://" in sentence
    assert "not-to-be-shown" not in sentence


def test_a_nats_that_does_not_answer(tmp_path: Path) -> None:
    sentence = refused(4, "up", "--nats", "nats://127.0.0.1:1", data=tmp_path)
    assert "NATS at 127.0.0.1:1 does not answer" in sentence


def test_a_folder_that_is_not_writable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    data = tmp_path / "file" / "data"
    assert "--data" in refused(2, "up", data=data)


def test_a_port_that_is_none(tmp_path: Path) -> None:
    assert "control_port" in refused(2, "up", data=tmp_path, SERENO_CONTROL_PORT="many")
    assert "--control-port" in refused(2, "up", "--control-port", "70000", data=tmp_path)


def test_an_unknown_flag_command_and_demonstration(tmp_path: Path) -> None:
    assert "--frobnicate" in refused(2, "up", "--frobnicate", data=tmp_path)
    assert "frobnicate" in refused(2, "frobnicate", data=tmp_path)
    assert "frobnicate" in refused(2, "demo", "frobnicate", data=tmp_path)


def test_serve_without_its_settings(tmp_path: Path) -> None:
    assert "SERENO_SIGNING_KEY_FILE" in refused_by_serve(2, "control", tmp_path)


@pytest.mark.parametrize("text", [None, "{"])
def test_a_configuration_that_cannot_be_read(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "config.json"
    if text is not None:
        file.write_text(text)
    for words in (("up",), ("doctor",), ("serve", "control")):
        sentence = refused(2, *words, data=tmp_path / "data", SERENO_CONFIG=str(file))
        assert f"{file} cannot be read: " in sentence
    assert "cannot be read: " in refused(2, "serve", "control", "--config", str(file), data=tmp_path / "data")


def refused_by_serve(code: int, process: str, data: Path) -> str:
    answer = sereno("serve", process, data=data)
    assert answer.returncode == code, answer.stderr
    return answer.stderr.splitlines()[-1]


def test_nothing_runs(tmp_path: Path) -> None:
    assert "nothing runs" in sereno("down", data=tmp_path).stdout
    assert sereno("doctor", data=tmp_path).returncode == 4


def test_init_writes_once(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    assert sereno("init", str(folder), data=tmp_path).returncode == 0
    text = (folder / "sereno.yaml").read_text()
    assert "kind: Subscription" in text
    assert "stays as it is" in refused(3, "init", str(folder), data=tmp_path)
    assert (folder / "sereno.yaml").read_text() == text
