"""`sereno up` on servers that exist already: the oldest PostgreSQL at hand, and a NATS without users."""

from pathlib import Path

import pytest

from sereno.deploy.embedded_nats import EmbeddedNats
from sereno.deploy.faults import StartError
from sereno.deploy.postgres_binaries import OLDEST, find_binaries
from tests.engines import embedded_postgres
from tests.integration.deploy.installations import sereno, up

pytestmark = pytest.mark.timeout(600)

PASSWORD = "s3cret:with\\odd@characters"


def oldest_at_hand() -> int | None:
    try:
        return find_binaries(major=OLDEST).major
    except StartError:
        return None


def test_up_uses_the_servers_it_is_given(tmp_path: Path) -> None:
    nats = EmbeddedNats(tmp_path / "nats", {}, tmp_path / "nats.log")
    nats.start()
    try:
        with embedded_postgres(tmp_path, major=oldest_at_hand()) as dsn:
            flags = ("--postgres", dsn, "--nats", nats.url)
            with up(tmp_path / "data", *flags) as running:
                found = running.discovery
                assert set(found["pids"]) == {"up", "control", "gateway", "listeners", "pipeline"}
                assert found["nats"] == nats.url
                password = dsn.partition("//")[2].partition("@")[0].partition(":")[2]
                assert password not in (tmp_path / "data" / "sereno.json").read_text()
                answer = sereno("doctor", data=tmp_path / "data")
                assert "WRONG" in answer.stdout
                assert "all processes share what the URL says" in " ".join(answer.stdout.split())
            # The servers are not ours to stop.
            assert nats.process is not None
            assert nats.process.poll() is None
    finally:
        nats.stop()
