"""How a plane's audit chains stand: how long they are, what of them is signed, when they were last found whole."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sereno.mailbox.audit import ledger
from sereno.mailbox.audit.chain import Head
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.readings import Reading


@dataclass(frozen=True, slots=True)
class _Verified:
    at: float
    faults: int


class AuditStanding:
    """Told of checkpoints and verifications by whoever makes them in this process; asked for gauges.

    `signs` and `verifies` say which of the two this process does. Clocks are its own.
    """

    def __init__(self, plane: str, *, signs: bool = True, verifies: bool = True) -> None:
        self._plane = plane
        self._signs = signs
        self._verifies = verifies
        self._began = time.monotonic()
        self._signed: Mapping[str, Head] = {}
        self._verified: dict[str, _Verified] = {}

    def signed(self, heads: Mapping[str, Head]) -> None:
        """A checkpoint over these ends was written."""
        self._signed = heads

    def verified(self, tenant: str, faults: int) -> None:
        """A chain was walked, and so many faults were found."""
        found = self._verified.get(tenant)
        at = time.monotonic() if not faults else self._began if found is None else found.at
        self._verified[tenant] = _Verified(at, faults)

    async def look(self, pool: AnyPool) -> Iterable[Reading]:
        """The gauges of every tenant's chain, with one question for the ends."""
        async with pool.acquire() as conn:
            heads = await ledger.heads(conn, self._plane)
        return [reading for tenant, head in heads.items() for reading in self._readings(tenant, head)]

    def _readings(self, tenant: str, head: Head) -> Iterable[Reading]:
        labels = tenant, self._plane
        last = self._verified.get(tenant, _Verified(self._began, 0))
        yield Reading("sereno.audit.records", labels, head.seq)
        if self._signs:
            yield Reading("sereno.audit.unsigned", labels, head.seq - self._signed.get(tenant, Head()).seq)
        if self._verifies:
            yield Reading("sereno.audit.verified", labels, time.monotonic() - last.at)
            yield Reading("sereno.audit.faults", labels, last.faults)
