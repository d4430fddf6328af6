from pathlib import Path

import pytest

from sereno.execution_plane.gateway.secrets import KEEP_SECONDS, Secrets


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_resolves_the_environment_and_files(tmp_path: Path) -> None:
    file = tmp_path / "hook.key"
    file.write_bytes(b"from a file\n")
    secrets = Secrets({"HOOK": "from the environment"})
    assert secrets.active(
        (
            f"file:{file}",
            "env:HOOK",
        )
    ) == (b"from a file", b"from the environment")


@pytest.mark.parametrize("value", ["", "   ", "\n"])
def test_a_blank_value_is_no_secret(value: str, tmp_path: Path) -> None:
    file = tmp_path / "hook.key"
    file.write_text(value)
    assert (
        Secrets({"HOOK": value}).active(
            (
                "env:HOOK",
                f"file:{file}",
            )
        )
        == ()
    )


def test_what_is_missing_is_no_secret_and_does_not_spoil_the_other(tmp_path: Path) -> None:
    secrets = Secrets({"HOOK": "there"})
    assert secrets.active(
        (
            "env:ABSENT",
            f"file:{tmp_path / 'absent'}",
            "literal",
            "env:HOOK",
        )
    ) == (b"there",)


def test_a_rotated_file_is_seen_after_a_while(tmp_path: Path) -> None:
    file, clock = tmp_path / "hook.key", Clock()
    file.write_bytes(b"old")
    secrets = Secrets({}, clock)
    assert secrets.active((f"file:{file}",)) == (b"old",)
    file.write_bytes(b"new")
    assert secrets.active((f"file:{file}",)) == (b"old",)
    clock.now = KEEP_SECONDS
    assert secrets.active((f"file:{file}",)) == (b"new",)
