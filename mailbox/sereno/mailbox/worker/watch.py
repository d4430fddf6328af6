"""The watch: asks for all leases that somebody else will end, in one request, whether they have ended."""

import asyncio
from collections.abc import Callable

from sereno.mailbox.client import MailboxClient, MailboxError
from sereno.mailbox.engine.logs import logger
from sereno.mailbox.lease_items import Answer, Status

EVERY_SECONDS = 2.0
"""A renewal would tell as well, but only when a third of the lease is over; and it writes, which this does not."""
MAX_ITEMS = 1000
_log = logger("worker")

Ended = Callable[[Answer], None]


class Watch:
    """Watches leases until each has ended. What is to be cancelled is left to the renewal, which ends it."""

    def __init__(self, client: MailboxClient) -> None:
        self._client = client
        self._watched: dict[int, Ended] = {}
        self._something = asyncio.Event()

    def keep(self, token: int, ended: Ended) -> None:
        """Call `ended` once the lease is over."""
        self._watched[token] = ended
        self._something.set()

    def drop(self, token: int) -> None:
        """Watch this lease no more."""
        self._watched.pop(token, None)

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            await self._something.wait()
            await asyncio.sleep(EVERY_SECONDS)
            tokens = list(self._watched)[:MAX_ITEMS]
            if not tokens:
                self._something.clear()
                continue
            try:
                answers = await self._client.check(tokens)
            except MailboxError as fault:
                _log.warning("watch_failed", leases=len(tokens), error=type(fault).__name__)
                continue
            self._tell(answers)

    def _tell(self, answers: list[Answer]) -> None:
        for answer in answers:
            ended = self._watched.pop(answer.token, None)
            if ended is None:
                continue
            if answer.status in {Status.OK, Status.CANCELLED}:
                # To the end of the line: with more leases than one request takes, all have their turn.
                self._watched[answer.token] = ended
            else:
                ended(answer)
