"""A command under `sereno work --exec` has its lease and nothing else, even when it knows every address."""

import json
import shlex
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.integration.deploy.installations import sereno, up

pytestmark = pytest.mark.timeout(600)

DOCUMENTS = """
apiVersion: sereno/v1
kind: Agent
metadata: {{name: prober}}
spec: {{owner: "user:admin", adapter: exec, description: Tries every door.}}
---
apiVersion: sereno/v1
kind: Subscription
metadata: {{name: once}}
spec:
  owner: user:admin
  agent: agent:prober
  instruction: Try every door.
  source:
    time: {{at: {at}}}
"""


def test_an_exec_command_reaches_neither_engines_nor_the_admin_api(tmp_path: Path) -> None:
    data, report = tmp_path / "data", tmp_path / "report.json"
    with up(data) as running:
        documents = tmp_path / "documents.yaml"
        at = datetime.now(UTC) + timedelta(seconds=20)
        documents.write_text(DOCUMENTS.format(at=f"{at:%Y-%m-%dT%H:%M:%SZ}"))
        applied = sereno("apply", "-f", str(documents), data=data)
        assert applied.returncode == 0, applied.stderr
        found = running.discovery
        probe = [
            sys.executable,
            str(Path(__file__).with_name("probe.py")),
            found["control_url"],
            found["postgres"].partition("?")[0],
            found["nats"],
            str(report),
        ]
        worked = sereno("work", "prober", "--max", "1", "--exec", shlex.join(probe), data=data)
        assert worked.returncode == 0, worked.stderr
    seen = json.loads(report.read_text())
    assert seen["token"] > 0
    assert seen["postgres"] == "InvalidPasswordError"
    assert "Authorization Violation" in seen["nats"]
    assert seen["admin"] in {401, 403}
    assert set(seen["environment"]) <= {
        "PATH",
        "HOME",
        "LANG",
        "TMPDIR",
        "SERENO_TOKEN",
        "SERENO_URL",
        "LC_CTYPE",
    }
