"""A calendar in a file, on the machine where the listeners run."""

import asyncio
import hashlib
import os
import stat
from pathlib import Path

from sereno.execution_plane.listeners.calendar.sources.look import (
    Last,
    Look,
    Resource,
    SourceAwayError,
    decoded,
)
from sereno.subscriptions.models.source import CalendarSource
from sereno.subscriptions.recurrence.calendar_text import MAX_BYTES


class FileSource:
    """Reads the file when its content is another; only below `folder` where one is given."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    async def look(self, source: CalendarSource, last: Last) -> Look:
        """See `Source.look`."""
        return await asyncio.to_thread(self._look, Path(source.file or ""), last)

    def _look(self, path: Path, last: Last) -> Look:
        content = self._read(path)
        digest = hashlib.sha256(content).hexdigest()
        if last.cursor.get("sha256") == digest:
            return Look(last.cursor)
        return Look({"sha256": digest}, [Resource("", decoded(content))], is_whole=True)

    def _read(self, path: Path) -> bytes:
        try:
            real = path.resolve(strict=True)
            if self._folder is not None and not real.is_relative_to(self._folder.resolve()):
                raise SourceAwayError("the file is outside the folder that is open for calendars")
            # A pipe would keep whoever opens it waiting.
            descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise SourceAwayError("expected a regular file")
                content = file.read(MAX_BYTES + 1)
        except OSError as fault:
            raise SourceAwayError(f"the file cannot be read: {fault.strerror}") from None
        if len(content) > MAX_BYTES:
            raise SourceAwayError(f"the calendar is larger than {MAX_BYTES} bytes")
        return content
