"""Files that only their owner may read, written whole or not at all."""

import os
from pathlib import Path
from typing import IO

MODE = 0o600


def write(path: Path, content: bytes) -> None:
    """Replace the file; a reader sees the old content or the new, and nobody else reads either."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(path)


def append_to(path: Path) -> IO[bytes]:
    """The file opened to write at its end, made when it is missing; one that others could read is closed to them."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, MODE)
    os.fchmod(descriptor, MODE)
    stream = os.fdopen(descriptor, "ab")
    stream.seek(0, os.SEEK_END)
    return stream
