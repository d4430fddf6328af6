"""A PostgreSQL server of our own under a folder of our own: made, started and stopped.

It listens on the loopback address only and has no Unix socket, so there is no socket folder to open. Every
connection, from the first, needs a SCRAM password. When we are root it runs as an unprivileged account, which
gets the folder handed over as an open descriptor: so it works below folders that only root may enter, and no
permissions of other folders are touched.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from sereno.deploy import private_file
from sereno.deploy.faults import StartError
from sereno.deploy.ports import LOOPBACK, on_free_port
from sereno.deploy.postgres_binaries import PostgresBinaries
from sereno.deploy.service_user import ServiceUser, service_user
from sereno.deploy.tail import last_lines, reason

SUPERUSER = "sereno"
START_SECONDS = 60.0
STOP_SECONDS = 30.0
_POLL_SECONDS = 0.02
_READY_LINE = 7
_SETTINGS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "password_encryption": "scram-sha-256",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "log_checkpoints": "off",
    "track_commit_timestamp": "on",
}
# Only for tests that kill no server.
UNSAFE_BUT_QUICK = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


def dsn(port: int, *, user: str, password: str, database: str, host: str = LOOPBACK) -> str:
    """The address of a database as libpq and asyncpg read it."""
    return f"postgresql://{quote(user, safe='')}:{quote(password, safe='')}@{host}:{port}/{quote(database, safe='')}"


@dataclass(slots=True)
class EmbeddedPostgres:
    """One server: `home` holds its cluster (`home/data`) and belongs to the account that runs it."""

    home: Path
    binaries: PostgresBinaries
    password: str
    log_file: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    durable_init: bool = True
    user: ServiceUser | None = field(default_factory=service_user)
    name: str = "postgres"
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        """The cluster's folder (PGDATA)."""
        return self.home / "data"

    def dsn(self, database: str = "postgres") -> str:
        """The address of a database for the superuser."""
        return dsn(self.port, user=SUPERUSER, password=self.password, database=database)

    def initialise(self) -> None:
        """Make the cluster if there is none. Raises `StartError`."""
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._give(self.home)
        if (self.data / "PG_VERSION").exists():
            self._check_version()
            return
        word = self.home / "password"
        with self._private(word) as stream:
            stream.write(f"{self.password}\n".encode())
        try:
            self._initdb()
        finally:
            word.unlink()

    def _check_version(self) -> None:
        major = int((self.data / "PG_VERSION").read_text())
        if major != self.binaries.major:
            raise StartError(
                f"The database in {self.data} was made by PostgreSQL {major}, but PostgreSQL "
                f"{self.binaries.major} is installed: install version {major}, or upgrade it with pg_upgrade."
            )

    def _initdb(self) -> None:
        arguments = ["--username", SUPERUSER, "--auth", "scram-sha-256", "--encoding", "UTF8", "--no-locale"]
        arguments += ["--data-checksums", "--no-instructions"]
        if not self.durable_init:
            arguments.append("--no-sync")
        with self._inside() as (place, options):
            answer = subprocess.run(
                [self.binaries.initdb, "-D", f"{place}/data", "--pwfile", f"{place}/password", *arguments],
                capture_output=True,
                text=True,
                check=False,
                **options,
            )
        if answer.returncode:
            raise StartError(
                f"initdb could not make the database in {self.data}: {reason(answer.stderr.splitlines())}"
            )

    def start(self) -> None:
        """Start the server on `port`, 0 taking a free one, and wait until it takes connections. Raises `StartError`."""
        on_free_port(self)

    def launch(self) -> None:
        """One attempt to start on `port`. Raises `StartError`."""
        settings = {**_SETTINGS, **self.settings, "port": str(self.port)}
        switches = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with self._inside() as (place, options), private_file.append_to(self.log_file) as log:
            self.process = subprocess.Popen(
                [self.binaries.postgres, "-D", f"{place}/data", *switches],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **options,
            )
        self._wait_until_ready(self.process)

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        give_up = time.monotonic() + START_SECONDS
        while process.poll() is None:
            lines = self.pid_lines()
            if (
                len(lines) > _READY_LINE
                and lines[0] == str(process.pid)
                and lines[_READY_LINE].strip() == "ready"
            ):
                return
            if time.monotonic() > give_up:
                self.stop()
                raise StartError(
                    f"PostgreSQL was not ready within {START_SECONDS:.0f} s: see {self.log_file}."
                )
            time.sleep(_POLL_SECONDS)
        raise StartError(
            f"PostgreSQL did not start: {reason(last_lines(self.log_file, 20))} (see {self.log_file})"
        )

    def pid_lines(self) -> list[str]:
        """The lines of the server's `postmaster.pid`; none while it does not run."""
        try:
            return (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return []

    def stop(self) -> None:
        """Stop the server: open transactions are rolled back, the cluster is left clean."""
        process, self.process = self.process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGQUIT)
            process.wait()

    def _give(self, path: Path) -> None:
        if self.user is not None:
            os.chown(path, self.user.uid, self.user.gid)
        path.chmod(0o700 if path.is_dir() else 0o600)

    @contextlib.contextmanager
    def _private(self, path: Path) -> Iterator[IO[bytes]]:
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            self._give(path)
            yield stream

    @contextlib.contextmanager
    def _inside(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The name of `home` for a program of the service user, and how to start that program."""
        if self.user is None:
            yield str(self.home), {"cwd": str(self.home)}
            return
        descriptor = os.open(self.home, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield (
                f"/proc/self/fd/{descriptor}",
                {
                    "cwd": "/",
                    "user": self.user.uid,
                    "group": self.user.gid,
                    "extra_groups": [],
                    "pass_fds": (descriptor,),
                    "env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
                },
            )
        finally:
            os.close(descriptor)
