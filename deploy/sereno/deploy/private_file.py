"""Files that only their owner may read, written whole or not at all."""

import os
from pathlib import Path

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
