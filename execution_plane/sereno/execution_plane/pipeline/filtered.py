"""What types and filters turn away: counted by subscription and hour, since what does not match leaves no verdict."""

import time
from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from sereno.envelope.types import CONDITION_MET
from sereno.execution_plane.pipeline.columns import columns
from sereno.execution_plane.pipeline.matcher import Index
from sereno.execution_plane.pipeline.round import Decided
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries

INTERVAL_SECONDS = 5.0
_SQL = queries.load("sereno.execution_plane.pipeline", "filtered.sql")


class Filtered:
    """The counts of one process, added to the stored ones from time to time: a killed process takes its last with it."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, datetime]] = Counter()
        self._written = time.monotonic()

    def count(self, decided: Iterable[Decided], index: Index) -> None:
        """Count these events for each subscription to their origin that they did not concern."""
        for item in decided:
            envelope, matches = item.arrival.envelope, item.arrival.matches
            listening = index.candidates(envelope)
            # The event of a verdict is for the one that asked, whoever listens to the platform.
            if len(listening) > len(matches) and envelope.type != CONDITION_MET:
                hour = envelope.recordedtime.replace(minute=0, second=0, microsecond=0)
                matched = {match.subscription.name for match in matches}
                self._counts.update(
                    (one.tenant, one.name, hour) for one in listening if one.name not in matched
                )

    async def write_in_turn(self, pool: AnyPool) -> None:
        """Add the counts to those that are stored, if that was long enough ago."""
        if self._counts and time.monotonic() - self._written >= INTERVAL_SECONDS:
            await self.write(pool)

    async def write(self, pool: AnyPool) -> None:
        """Add the counts to those that are stored."""
        if self._counts:
            rows = [(*key, count) for key, count in sorted(self._counts.items())]
            await pool.execute(_SQL["add"], *columns(rows, 4))
            self._counts.clear()
        self._written = time.monotonic()
