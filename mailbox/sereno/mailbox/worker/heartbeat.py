"""The heartbeat: renews all leases of a process in one request, from a thread that no handler can block."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import httpx

from sereno.mailbox.engine.telemetry import logger
from sereno.mailbox.worker import api

SHARE = 3
"""A lease is renewed when a third of it is over: two beats may fail before it is lost."""
MAX_PAUSE_SECONDS = 10.0
_log = logger("heartbeat")

Lost = Callable[[str], None]
"""Called once, from the heartbeat's thread, with the status that ended the lease."""


@dataclass(slots=True)
class _Kept:
    seconds: float
    ends: float
    due: float
    lost: Lost


class Heartbeat:
    """Keeps leases until they are dropped, and tells when one is lost: refused, or unanswered past its end."""

    def __init__(self, url: str, token: str | None) -> None:
        self._http = httpx.Client(base_url=url, headers=api.headers(token), trust_env=False)
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
            self._kept[token] = _Kept(seconds, now + seconds, now + seconds / SHARE, lost)
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
                due = {token: kept for token, kept in self._kept.items() if kept.due <= now}
            try:
                self._renew(due, now)
            except (httpx.HTTPError, api.WorkerUnansweredError, api.WorkerRefusedError) as fault:
                _log.warning("renewal_failed", leases=len(due), error=type(fault).__name__)
                self._postpone(due)

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

    def _renew(self, due: dict[int, _Kept], now: float) -> None:
        timeout = min(MAX_PAUSE_SECONDS, min(kept.seconds for kept in due.values()) / SHARE)
        body = {"items": [{"token": token} for token in due]}
        answers = api.reading(self._http.post("/v1/leases/renew", json=body, timeout=timeout))["items"]
        for answer in answers:
            kept = due[answer["token"]]
            if answer["status"] == "ok":
                kept.ends, kept.due = now + kept.seconds, now + kept.seconds / SHARE
            else:
                self._lose(answer["token"], answer["status"])

    def _postpone(self, due: dict[int, _Kept]) -> None:
        """Try again soon; what nobody renewed before its end must be taken for lost."""
        now = time.monotonic()
        for token, kept in due.items():
            if kept.ends <= now:
                self._lose(token, "unanswered")
            else:
                kept.due = min(kept.ends, now + kept.seconds / (SHARE * 3))

    def _lose(self, token: int, status: str) -> None:
        with self._changed:
            kept = self._kept.pop(token, None)
        if kept is not None:
            kept.lost(status)
