"""A durable PostgreSQL of our own that is killed, brought back, and put back to an older copy of itself."""

import contextlib
import os
import secrets
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sereno.deploy import database
from sereno.deploy.embedded_postgres import EmbeddedPostgres
from sereno.deploy.faults import StartError
from sereno.deploy.postgres_binaries import find_binaries, reachable_for
from sereno.deploy.service_user import service_user
from tests.engines import PASSWORDS, run_apart

START_TRIES = 100


@dataclass(frozen=True, slots=True)
class CrashingPostgres:
    """One server; its port stays the same over all its deaths."""

    server: EmbeddedPostgres
    copy: Path

    @property
    def owner(self) -> str:
        """The superuser's DSN."""
        return database.with_database(self.server.dsn(), database.NAME)

    @property
    def execution(self) -> str:
        """For the role that serves the mailbox."""
        return database.with_login(self.owner, database.EXECUTION, PASSWORDS[database.EXECUTION])

    @property
    def worker(self) -> str:
        """For the role that joins an acknowledgement to its own transaction."""
        return database.with_login(self.owner, database.WORKER, PASSWORDS[database.WORKER])

    def crash(self) -> None:
        """SIGKILL to the server, and start it again from what is on disk."""
        process = self.server.process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        self.start()

    def start(self) -> None:
        """Start on the same port; the children of a killed server take a moment to let go of it."""
        for attempt in range(START_TRIES):
            try:
                self.server.launch()
            except StartError:
                if attempt == START_TRIES - 1:
                    raise
                time.sleep(0.1)
            else:
                return

    def keep_copy(self) -> None:
        """What a back-up of this moment would hold."""
        self.server.stop()
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.server.data, self.copy)
        self.start()

    def go_back(self) -> None:
        """Put the cluster back to the copy."""
        self.server.stop()
        user = self.server.user
        shutil.rmtree(self.server.data)
        shutil.copytree(self.copy, self.server.data)
        if user is not None:
            for path in (self.server.data, *self.server.data.rglob("*")):
                os.chown(path, user.uid, user.gid)
        self.server.data.chmod(0o700)
        self.start()


@contextlib.contextmanager
def crashing_postgres() -> Iterator[CrashingPostgres]:
    """A server with the schemas and roles of an installation."""
    user = service_user()
    with tempfile.TemporaryDirectory(prefix="sereno-torture-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        server = EmbeddedPostgres(
            home=folder / "postgres",
            binaries=reachable_for(find_binaries(), user, folder / "programs"),
            password=secrets.token_urlsafe(24),
            log_file=folder / "postgres.log",
            user=user,
        )
        server.initialise()
        server.start()
        try:

            async def prepare() -> None:
                await database.create_roles(server.dsn(), PASSWORDS)
                await database.prepare(await database.create_database(server.dsn()))

            run_apart(prepare)
            yield CrashingPostgres(server, folder / "copy")
        finally:
            server.stop()
