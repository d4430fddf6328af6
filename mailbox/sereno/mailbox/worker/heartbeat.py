"""The heartbeat: renews all leases of a worker in one request, from a thread that no handler can block."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import httpx

from sereno.mailbox.client import answers
from sereno.mailbox.engine.logs import logger

SHARE = 3
"""A lease is renewed when a third of it is over: two beats may fail before it is lost."""
MAX_PAUSE_SECONDS = 10.0
MAX_ITEMS = 1000
REPORT_SECONDS = 1.0
_log = logger("heartbeat")

Lost = Callable[[str, str | None], None]
"""Called once, from the heartbeat's thread, with the status that ended the lease, and the work's state if known."""


@dataclass(slots=True)
class _Kept:
    seconds: float
    ends: float
    due: float
    renewed: float
    lost: Lost
    progress: object = None


class Heartbeat:
    """Keeps leases until they are dropped, and tells when one is lost: refused, or unanswered past its end."""

    def __init__(self, url: str, token: str | None) -> None:
        self._http = httpx.Client(base_url=url, headers=answers.headers(token), trust_env=False)
        self._kept: dict[int, _Kept] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._beat, name="sereno-heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Renew nothing any more."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()
        self._http.close()

    def keep(self, token: int, seconds: float, lost: Lost) -> None:
        """Renew this lease from now on; it was granted just now for so many seconds."""
        now = time.monotonic()
        with self._changed:
            self._kept[token] = _Kept(seconds, now + seconds, now + seconds / SHARE, now, lost)
            self._changed.notify()

    def report(self, token: int, progress: object) -> None:
        """Send `progress` with the next renewal of this lease, which comes within a second."""
        with self._changed:
            kept = self._kept.get(token)
            if kept is not None:
                kept.progress = progress
                kept.due = min(kept.due, kept.renewed + REPORT_SECONDS)
                self._changed.notify()

    def drop(self, token: int) -> None:
        """The lease is over: renew it no more."""
        with self._changed:
            self._kept.pop(token, None)

    def ends(self, token: int) -> float:
        """The monotonic time until which the lease surely lasts; now for one that is not kept."""
        with self._changed:
            kept = self._kept.get(token)
            return kept.ends if kept else time.monotonic()

    def _beat(self) -> None:
        while self._wait():
            now = time.monotonic()
            with self._changed:
                due = dict(islice(self._together(now), MAX_ITEMS))
                progress = {token: kept.progress for token, kept in due.items()}
            try:
                self._renew(due, progress, now)
            except Exception as fault:  # noqa: BLE001 - the thread must outlive whatever an answer is
                _log.warning("renewal_failed", leases=len(due), error=type(fault).__name__)
                self._postpone(due)

    def _together(self, now: float) -> list[tuple[int, _Kept]]:
        """What is due, and with it what will be soon: one request for many leases, not one each. Most urgent first."""
        ahead = [
            (token, kept)
            for token, kept in self._kept.items()
            if kept.due - now <= kept.seconds / (2 * SHARE)
        ]
        return sorted(ahead, key=lambda item: item[1].ends)

    def _wait(self) -> bool:
        """Sleep until a lease is due; whether to go on."""
        with self._changed:
            while not self._closed:
                pause = min((kept.due for kept in self._kept.values()), default=None)
                left = None if pause is None else pause - time.monotonic()
                if left is not None and left <= 0:
                    return True
                self._changed.wait(left)
            return False

    def _renew(self, due: Mapping[int, _Kept], progress: Mapping[int, object], now: float) -> None:
        timeout = min(MAX_PAUSE_SECONDS, min(kept.seconds for kept in due.values()) / SHARE)
        body = {"items": [_item(token, progress[token]) for token in due]}
        answer = answers.reading(self._http.post("/v1/leases/renew", json=body, timeout=timeout))
        for item in answer["items"]:
            token, status = item["token"], item["status"]
            if status == "ok":
                self._prolong(due[token], progress[token], now)
            else:
                self._lose(token, status, item.get("state"))

    def _prolong(self, kept: _Kept, sent: object, now: float) -> None:
        with self._changed:
            kept.ends, kept.due, kept.renewed = now + kept.seconds, now + kept.seconds / SHARE, now
            if kept.progress is sent:
                kept.progress = None
            else:
                kept.due = min(kept.due, now + REPORT_SECONDS)

    def _postpone(self, due: Mapping[int, _Kept]) -> None:
        """Try again soon; what nobody renewed before its end must be taken for lost."""
        now = time.monotonic()
        for token, kept in due.items():
            if kept.ends <= now:
                self._lose(token, "unanswered", None)
            else:
                kept.due = min(kept.ends, now + kept.seconds / (SHARE * 3))

    def _lose(self, token: int, status: str, state: str | None) -> None:
        with self._changed:
            kept = self._kept.pop(token, None)
        if kept is not None:
            kept.lost(status, state)


def _item(token: int, progress: object) -> dict[str, Any]:
    return {"token": token} if progress is None else {"token": token, "progress": progress}
