"""The probes of a process: it runs, it can do its work, what it has measured; and a face for processes without an API."""

from collections.abc import Awaitable, Callable, Mapping

import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from sereno.mailbox.engine.telemetry import metrics_page

Readiness = Callable[[], Awaitable[Mapping[str, str | None]]]
"""Answers each dependency by name with `None` when it is fine, else with a sentence."""

Refresh = Callable[[], Awaitable[None]]
"""Looks up what the gauges show before the metrics are answered."""

Answer = tuple[int, bytes, str]
"""Status, body and media type."""

JSON = "application/json"
RUNNING: Mapping[str, str] = {"status": "ok"}


async def no_gauges() -> None:
    """For a process that has nothing to look up."""


async def readiness(ready: Readiness) -> Answer:
    """What `/readyz` answers: 200, or 503 when a dependency fails."""
    checks = await ready()
    failing = any(reason is not None for reason in checks.values())
    body = {
        "status": "unready" if failing else "ready",
        "checks": {name: reason or "ok" for name, reason in checks.items()},
    }
    return 503 if failing else 200, orjson.dumps(body), JSON


def app(ready: Readiness, refresh: Refresh = no_gauges) -> ASGIApp:
    """`/healthz`, `/readyz` and `/metrics` and nothing else, without the weight of a framework."""

    async def answer(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"expected HTTP, not {scope['type']}")
        status, body, media_type = await _answer(scope["path"], ready, refresh)
        headers = [(b"content-type", media_type.encode()), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return answer


async def _answer(path: str, ready: Readiness, refresh: Refresh) -> Answer:
    if path == "/healthz":
        return 200, orjson.dumps(RUNNING), JSON
    if path == "/readyz":
        return await readiness(ready)
    if path == "/metrics":
        await refresh()
        return 200, *metrics_page()
    return 404, b"", "text/plain"
