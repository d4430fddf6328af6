"""A back-up of what runs, and a restore of it under new keys that is rehearsed by the scripts as they are shipped."""

import json
import subprocess
from pathlib import Path

from tests.e2e.running import Running

SCRIPTS = Path(__file__).resolve().parents[2] / "deploy/backup"
DECLARED = """\
apiVersion: sereno/v1
kind: Agent
metadata: {name: archivist}
spec: {owner: user:marta, adapter: pull}
"""


def script(sereno: Running, name: str, *arguments: Path) -> str:
    run = subprocess.run(
        [str(SCRIPTS / name), *map(str, arguments)],
        env=dict(sereno.environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_a_backup_is_restored_under_new_keys_and_verified(installation: Running, tmp_path: Path) -> None:
    installation.apply(DECLARED)
    data, backup = installation.data, tmp_path / "backup"
    script(installation, "backup.sh", data, backup)
    said = script(installation, "restore-drill.sh", data, backup)
    assert "control plane: whole" in said
    assert "execution plane: whole" in said
    assert json.loads((data / "audit/drills.jsonl").read_text().splitlines()[-1])["restored"] is True
    assert json.loads(installation.command("agent", "show", "archivist", "--json"))["state"] == "active"
    installation.command("keys", "rotate", code=3)
