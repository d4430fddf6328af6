"""One lease while a worker holds it: kept by the heartbeat, used by the handler, ended once."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from sereno.envelope import media_type
from sereno.mailbox import joined_ack
from sereno.mailbox.client import MailboxClient, MailboxRefusedError, MailboxUnansweredError
from sereno.mailbox.engine.logs import logger
from sereno.mailbox.lease_items import AckItem, Answer, EmitItem, ParkItem, ReleaseItem, Status
from sereno.mailbox.lease_lost import LeaseLostError
from sereno.mailbox.worker.heartbeat import Heartbeat

RETRY_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
MAX_REASON = 500
_log = logger("worker")

End = AckItem | ReleaseItem | ParkItem
"""With what a lease ends."""


class Holding:
    """A lease in hand. `lost` is set when it ended without us: refused, cancelled, or ended by somebody who has its token.

    Made on the loop that uses it; the heartbeat's thread only posts to that loop.
    """

    def __init__(self, client: MailboxClient, heartbeat: Heartbeat, token: int, seconds: float) -> None:
        self.token = token
        self.lost = asyncio.Event()
        self.ending: str | None = None
        self.ended = False
        self._joined = False
        self._client = client
        self._heartbeat = heartbeat
        self._work: asyncio.Future[object] | None = None
        self._loop = asyncio.get_running_loop()
        heartbeat.keep(token, seconds, self._from_heartbeat)

    def _from_heartbeat(self, status: str, state: str | None) -> None:
        self._loop.call_soon_threadsafe(self._lose, status, state)

    def _lose(self, status: str, state: str | None) -> None:
        if self.ended:
            return
        self.ending = state if status == Status.STALE and state else status
        self.lost.set()
        if self._work is not None:
            self._work.cancel()

    def over(self, answer: Answer) -> None:
        """The lease has ended without us."""
        self._heartbeat.drop(self.token)
        self._lose(answer.status, answer.state)

    def runs(self, work: "asyncio.Future[object]") -> None:
        """Cancel `work` when the lease is lost."""
        self._work = work
        if self.lost.is_set():
            work.cancel()

    def report(self, progress: object) -> None:
        """Send `progress` with a renewal, at the latest a second from now."""
        self._heartbeat.report(self.token, progress)

    async def check(self) -> Status:
        """Ask whether this holder may still act."""
        [answer] = await self._client.check([self.token])
        return answer.status

    async def emit(self, kind: str, data: object, subject: str | None) -> str:
        """Emit one event; its receipt's id. Raises `LeaseLostError`."""
        [emitted] = await self._client.emit([EmitItem(self.token, kind, data, subject)])
        if emitted.receiptid is None:
            raise LeaseLostError(self.token, emitted.status)
        return emitted.receiptid

    async def data(self, reference: str, message_id: str) -> object:
        """What a reference of this message points to: parsed where it is JSON, else its bytes."""
        answer = await self._client.data(reference, message_id)
        content = media_type.parse(answer.headers.get("content-type", ""))
        return answer.json() if content is not None and content.is_json else answer.content

    async def ack(self, result: object, usage: Mapping[str, Any] | None, connection: object) -> None:
        """Acknowledge, in the transaction of `connection` when there is one. Raises `LeaseLostError`."""
        if connection is not None:
            # Our transaction locks the lease's row: a renewal would wait for it, and with it all other leases.
            self._heartbeat.drop(self.token)
            self._joined = True
            await joined_ack.ack(connection, self.token, result, usage)
        else:
            [answer] = await self._client.ack([AckItem(self.token, result, usage)])
            if answer.status is not Status.OK:
                raise LeaseLostError(self.token, answer.status)
        self._end()

    def _end(self) -> None:
        self.ended = True
        self._heartbeat.drop(self.token)

    def leave(self) -> None:
        """Renew the lease no more and let it run out: whoever has its token can still end it in time."""
        self._end()

    async def close(self, end: End) -> None:
        """End the lease with a verb, trying again while it lasts."""
        if self.ended and not (self._joined and isinstance(end, ReleaseItem)):
            return
        # What was acknowledged in a transaction that rolled back is given back; if it committed this is refused.
        for attempt in range(1_000_000):
            try:
                answer = await self._send(end)
            except MailboxUnansweredError:
                pause = RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)]
                if time.monotonic() + pause >= self._heartbeat.ends(self.token):
                    _log.warning("lease_left_to_expire", token=self.token)
                    break
                await asyncio.sleep(pause)
                continue
            except MailboxRefusedError as refused:
                await self._refused(end, refused)
                break
            _log.info("lease_ended", verb=_VERBS[type(end)], token=self.token, status=answer.status)
            break
        self._end()

    async def _send(self, end: End) -> Answer:
        match end:
            case AckItem():
                [answer] = await self._client.ack([end])
            case ReleaseItem():
                [answer] = await self._client.release([end])
            case ParkItem():
                [answer] = await self._client.park([end])
        return answer

    async def _refused(self, end: End, refused: MailboxRefusedError) -> None:
        verb = _VERBS[type(end)]
        _log.error("verb_refused", verb=verb, token=self.token, error=str(refused))
        if isinstance(end, ReleaseItem):
            return
        said = "result refused" if isinstance(end, AckItem) else f"{verb} refused"
        try:
            await self._client.release([ReleaseItem(self.token, f"{said}: {refused}"[:MAX_REASON])])
        except (MailboxUnansweredError, MailboxRefusedError) as fault:
            _log.warning("lease_left_to_expire", token=self.token, error=type(fault).__name__)


_VERBS: Mapping[type[Any], str] = {AckItem: "ack", ReleaseItem: "release", ParkItem: "park"}
