"""`sereno demo`: every step as it should be, and nothing left behind."""

from pathlib import Path

import psutil
import pytest

from tests.integration.deploy.installations import sereno

pytestmark = pytest.mark.timeout(600)


def test_the_demonstration_shows_each_decision_and_leaves_nothing(tmp_path: Path) -> None:
    played = sereno("demo", TMPDIR=str(tmp_path), COLUMNS="200", SERENO_URL="http://must-not-be-used.invalid")
    assert played.returncode == 0, played.stdout + played.stderr
    text = " ".join(played.stdout.split())
    for step in (
        "delivered (delivered)",
        "dropped (duplicate)",
        "dropped (cooldown)",
        "new-issues was not concerned",
        "with fencing token",
        "morning-round: deposited",
        "Nothing is left behind",
    ):
        assert step in text, played.stdout
    assert not list(tmp_path.iterdir())
    left = [
        p.info["cmdline"]
        for p in psutil.process_iter(["cmdline"])
        if str(tmp_path) in " ".join(p.info["cmdline"] or ())
    ]
    assert not left
