"""The folder of an installation: what lies where in it, and that only one `sereno up` uses it."""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sereno.deploy.faults import StartError
from sereno.mailbox.cli.discovery import FILE_NAME
from sereno.mailbox.cli.exits import Exit

_FOLDER_MODE = 0o700


@dataclass(frozen=True, slots=True)
class DataFolder:
    """The paths of one installation; all of it is closed to other users."""

    root: Path

    @property
    def secrets(self) -> Path:
        """Passwords, seeds, keys and tokens, a file each."""
        return self.root / "secrets"

    @property
    def configuration(self) -> Path:
        """One configuration file per process."""
        return self.root / "config"

    @property
    def logs(self) -> Path:
        """One log per process and server."""
        return self.root / "logs"

    @property
    def postgres(self) -> Path:
        """The home of the embedded PostgreSQL."""
        return self.root / "postgres"

    @property
    def nats(self) -> Path:
        """The home of the embedded NATS."""
        return self.root / "nats"

    @property
    def discovery(self) -> Path:
        """Where the planes are, while they run."""
        return self.root / FILE_NAME

    @property
    def lock(self) -> Path:
        """Held by the `sereno up` that uses the folder; its content is that process' id."""
        return self.root / "lock"

    def log(self, name: str) -> Path:
        """The log of a process or server."""
        return self.logs / f"{name}.log"

    def make(self) -> None:
        """Make what is missing. Raises `StartError` when the folder cannot be written to."""
        try:
            for folder in (self.root, self.secrets, self.configuration, self.logs):
                folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
            self.root.chmod(_FOLDER_MODE)
            self.lock.touch(mode=0o600)
        except OSError as fault:
            raise StartError(
                f"The data folder {self.root} is not writable ({fault.strerror}): "
                "name another with --data FOLDER or SERENO_DATA.",
                Exit.BAD_INPUT,
            ) from fault

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep the folder for this process. Raises `StartError` when another `sereno up` has it."""
        with self.lock.open("r+", encoding="ascii") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise self._in_use(stream.read()) from None
            stream.truncate(0)
            stream.write(str(os.getpid()))
            stream.flush()
            yield

    def _in_use(self, holder: str) -> StartError:
        return StartError(
            f"The data folder {self.root} is in use by process {holder.strip() or 'unknown'}: "
            "stop it with 'sereno down', or name another folder with --data.",
            Exit.REFUSED,
        )

    def refuse_if_held(self) -> None:
        """Raise `StartError` when a `sereno up` has the folder now."""
        holder = self.holder()
        if holder is not None:
            raise self._in_use(str(holder))

    def read_discovery(self) -> dict[str, Any] | None:
        """The content of `sereno.json`; none while nothing runs."""
        try:
            content: dict[str, Any] = json.loads(self.discovery.read_bytes())
        except (OSError, ValueError):
            return None
        return content

    def holder(self) -> int | None:
        """The process id of the `sereno up` that uses the folder now, if any."""
        try:
            stream = self.lock.open("r", encoding="ascii")
        except OSError:
            return None
        with stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(stream.read() or 0) or None
        return None
