"""wrk, the load generator: the one on PATH, else unpacked from Debian's packages into a folder, installing nothing."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

PACKAGES = ("wrk", "libluajit-5.1-2", "libluajit-5.1-common")
SCRIPT = Path(__file__).with_name("wrk.lua")
_LENGTH_DIGITS = 8


class WrkMissingError(Exception):
    """There is no wrk, and none could be had."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What one run of wrk saw; `p99` and `seconds` in seconds."""

    requests: int
    seconds: float
    refused: int
    broken: int
    p99: float

    @property
    def accepted(self) -> int:
        return self.requests - self.refused

    @property
    def rate(self) -> float:
        """Accepted requests per second."""
        return self.accepted / self.seconds


@dataclass(frozen=True, slots=True)
class Wrk:
    """The program, the libraries that it needs from beside it, and the file of requests that it sends."""

    program: str
    libraries: str
    requests: Path

    def run(self, url: str, *, seconds: int, connections: int, first: int = 0) -> Figures:
        """One thread and so many connections against the host of `url`, beginning behind request `first`."""
        address = urlsplit(url)
        options = ["-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s", str(SCRIPT)]
        environment = os.environ | {
            "LD_LIBRARY_PATH": self.libraries,
            "SERENO_BENCH_REQUESTS": str(self.requests),
            "SERENO_BENCH_FIRST": str(first),
        }
        ran = subprocess.run(
            [self.program, *options, f"http://{address.netloc}/"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds + 60,
            check=True,
        )
        (line,) = [line for line in ran.stdout.splitlines() if line.startswith("figures ")]
        requests, micros, refused, broken, p99 = map(int, line.split()[1:])
        return Figures(requests, micros / 1e6, refused, broken, p99 / 1e6)


def write(path: Path, requests: Sequence[bytes]) -> None:
    """The file that `wrk.lua` reads: each request behind its length in eight digits."""
    with path.open("wb") as file:
        for request in requests:
            file.write(f"{len(request):0{_LENGTH_DIGITS}d}".encode())
            file.write(request)


def find(folder: Path, requests: Path) -> Wrk:
    """The wrk of this machine; `folder` takes what has to be unpacked. Raises `WrkMissingError`."""
    on_path = shutil.which("wrk")
    if on_path is not None:
        return Wrk(on_path, "", requests)
    try:
        for package in PACKAGES:
            subprocess.run(
                ["apt-get", "download", "-qq", package], cwd=folder, check=True, capture_output=True
            )
        for archive in folder.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", archive, folder], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as fault:
        raise WrkMissingError("install wrk: apt-get install wrk (or run apt-get update first)") from fault
    (library,) = folder.glob("usr/lib/*/libluajit-5.1.so.2")
    return Wrk(str(folder / "usr/bin/wrk"), str(library.parent), requests)
