"""Flags beat the environment, which beats the file; secrets stay masked."""

import json
import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from sereno.mailbox.engine.known_settings import UnknownSettingError
from sereno.mailbox.engine.settings import Settings


def test_flags_beat_environment_beats_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "sereno-config.json"
    file.write_text(json.dumps({"control_port": 1, "execution_port": 1, "nats": "nats://file:1"}))
    monkeypatch.setenv("SERENO_CONFIG", str(file))
    monkeypatch.setenv("SERENO_CONTROL_PORT", "2")
    monkeypatch.setenv("SERENO_EXECUTION_PORT", "2")
    settings = Settings(control_port=3)
    assert (settings.control_port, settings.execution_port, settings.nats) == (3, 2, "nats://file:1")


def test_the_dsn_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERENO_POSTGRES", "postgresql://u:hunter2@h/d")
    assert "hunter2" not in repr(Settings())
    assert Settings().dsn().endswith("u:hunter2@h/d")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("controll_port", "there is no setting 'controll_port'; did you mean 'control_port'?"),
        (
            "frobnicate",
            "there is no setting 'frobnicate'; there are: admin_token_sha256_file, audit_checkpoint_file",
        ),
    ],
)
@pytest.mark.parametrize("suffix", ["json", "toml"])
def test_a_name_in_a_file_that_is_no_setting_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, sentence: str, suffix: str
) -> None:
    file = tmp_path / f"config.{suffix}"
    file.write_text(json.dumps({name: 1}) if suffix == "json" else f"{name} = 1")
    monkeypatch.setenv("SERENO_CONFIG", str(file))
    with pytest.raises(UnknownSettingError, match=re.escape(f"{file}: {sentence}")):
        Settings()


def test_a_slip_in_a_variable_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERENO_CONTROL_PROT", "1")
    with pytest.raises(
        UnknownSettingError, match="no setting SERENO_CONTROL_PROT; did you mean SERENO_CONTROL_PORT"
    ):
        Settings()


def test_variables_that_only_share_our_prefix_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONTROL_SERVICE_HOST", "HOOK_SECRET", "NATS_TOKEN", "TEST_POSTGRES", "WORK_LEASE"):
        monkeypatch.setenv(f"SERENO_{name}", "x")
    assert Settings().control_port == 7700


@pytest.mark.parametrize("name", ["control_host", "execution_host"])
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "sereno.internal"])
def test_nothing_listens_in_clear_beyond_the_loopback_unless_told(
    name: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"SERENO_{name.upper()}", host)
    with pytest.raises(ValidationError, match="SERENO_BEHIND_TLS"):
        Settings()
    monkeypatch.setenv("SERENO_BEHIND_TLS", "true")
    assert getattr(Settings(), name) == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_the_loopback_needs_no_flag(host: str) -> None:
    assert Settings(control_host=host).control_host == host
