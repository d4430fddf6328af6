"""Flags beat the environment, which beats the file; secrets stay masked."""

import json
from pathlib import Path

import pytest

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
