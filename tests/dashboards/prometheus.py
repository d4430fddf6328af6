"""A real Prometheus on the loopback: found or unpacked, configured for the processes of an installation, and asked."""

import contextlib
import json
import math
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.running import until

FOLDER = "SERENO_PROMETHEUS"
"""The folder with `prometheus` and `promtool`, where they are neither on the PATH nor to be had from Debian."""
CACHE = Path(sys.prefix) / "prometheus"


@dataclass(frozen=True, slots=True)
class Programs:
    """Where the two programs lie."""

    prometheus: str
    promtool: str


def programs() -> Programs:
    """From the environment, the PATH, or Debian's package, which is unpacked and not installed."""
    named = os.environ.get(FOLDER)
    places = [named] if named else [*os.environ["PATH"].split(os.pathsep), str(CACHE / "usr/bin")]
    found = [shutil.which(name, path=os.pathsep.join(places)) for name in ("prometheus", "promtool")]
    if None in found and not named:
        _unpack()
        found = [shutil.which(name, path=str(CACHE / "usr/bin")) for name in ("prometheus", "promtool")]
    if found[0] is None or found[1] is None:
        raise SystemExit(
            f"prometheus and promtool are needed; install them, or name their folder in {FOLDER}"
        )
    return Programs(found[0], found[1])


def _unpack() -> None:
    if shutil.which("apt-get") is None:
        return
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["apt-get", "download", "-qq", "prometheus"], cwd=folder, check=False)
        for package in Path(folder).glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, CACHE], check=True)


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A running server, by its address."""

    url: str

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series of an expression now. Raises `ValueError` with what the server says against it."""
        answer = httpx.get(
            f"{self.url}/api/v1/query", params={"query": expression}, timeout=30, trust_env=False
        )
        body = answer.json()
        if body["status"] != "success":
            raise ValueError(body["error"])
        found: list[dict[str, Any]] = body["data"]["result"]
        return found

    def says_something(self, expression: str) -> bool:
        """Whether there is a series with a number; NaN is what nothing divided by nothing is."""
        return any(math.isfinite(float(series["value"][1])) for series in self.query(expression))


@contextlib.contextmanager
def scraping(
    programs: Programs, folder: Path, probes: Mapping[str, str], rules: Sequence[Path]
) -> Iterator[Prometheus]:
    """Prometheus over these processes, each looked at every second."""
    jobs = [
        {
            "job_name": f"sereno-{process}",
            "static_configs": [{"targets": [address.removeprefix("http://")]}],
        }
        for process, address in probes.items()
    ]
    config = folder / "prometheus.yml"
    document = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "5s"},
        "rule_files": [str(path.resolve()) for path in rules],
        "scrape_configs": jobs,
    }
    # JSON is YAML.
    config.write_text(json.dumps(document))
    subprocess.run([programs.promtool, "check", "config", config], check=True, stdout=subprocess.DEVNULL)
    address = f"127.0.0.1:{_free_port()}"
    with (folder / "prometheus.log").open("wb") as log:
        server = subprocess.Popen(
            [
                programs.prometheus,
                f"--config.file={config}",
                f"--storage.tsdb.path={folder / 'prometheus'}",
                f"--web.listen-address={address}",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        url = f"http://{address}"
        until(lambda: _ready(url))
        yield Prometheus(url)
    finally:
        server.terminate()
        server.wait(30)


def _ready(url: str) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"{url}/-/ready", trust_env=False).is_success
    return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
