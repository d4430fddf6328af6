"""The claim check on the way in: what is too large is on disk before the envelope that refers to it."""

from sereno.envelope.encode import dumps
from sereno.execution_plane.gateway.admission import Admitted
from sereno.execution_plane.gateway.group_commit import NotStoredError
from sereno.execution_plane.large_data import store
from sereno.execution_plane.large_data.claim_check import withhold
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.postgres import DATABASE_FAULTS


class Claims:
    """Withholds large data under addresses made with `key`, which is this plane's own."""

    def __init__(self, pool: AnyPool, key: bytes) -> None:
        self._pool = pool
        self._key = key

    async def withhold(self, admitted: Admitted) -> Admitted:
        """The same, each envelope with a reference instead of large data. Raises `NotStoredError`."""
        pairs = [withhold(envelope, self._key) for envelope in admitted.envelopes]
        withheld = [kept for _, kept in pairs if kept is not None]
        if not withheld:
            return admitted
        try:
            await store.keep(self._pool, withheld)
        except DATABASE_FAULTS as fault:
            raise NotStoredError(f"large data could not be kept: {type(fault).__name__}") from fault
        envelopes = tuple(envelope for envelope, _ in pairs)
        encoded = tuple(dumps(envelope) for envelope in envelopes)
        return admitted._replace(envelopes=envelopes, encoded=encoded)
