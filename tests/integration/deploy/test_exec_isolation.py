"""A command under `sereno work --exec` has its lease and nothing else, even when it knows every address."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.e2e.running import DOCUMENTS, Running, endpoint_url, github_headers, pull_request

pytestmark = pytest.mark.timeout(600)

OWN = (
    DOCUMENTS.replace("reviewer", "prober")
    .replace("review-pull-requests", "try-every-door")
    .replace("name: github", "name: doors")
    .replace("endpoint: github", "endpoint: doors")
)


def test_an_exec_command_reaches_neither_engines_nor_the_admin_api(
    installation: Running, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    url, body = endpoint_url(installation.apply(OWN)), pull_request(1)
    assert installation.http.post(url, content=body, headers=github_headers(body, "1")).status_code == 202
    found = json.loads((installation.data / "sereno.json").read_text())
    probe = [
        sys.executable,
        str(Path(__file__).with_name("probe.py")),
        found["control_url"],
        found["postgres"].partition("?")[0],
        found["nats"],
        str(report),
    ]
    installation.command("work", "prober", "--max", "1", "--exec", shlex.join(probe))
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
