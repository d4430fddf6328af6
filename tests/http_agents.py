"""Small HTTP agents that answer like known ones: what they say when they take a message, and when they see it again.

OpenClaw's `POST /hooks/agent` wants a bearer token and a `message`, answers 202 with a run id and runs on. Hermes'
webhook route wants a Standard Webhooks signature, answers 202, and for an hour 200 "duplicate" to a delivery id
that it has seen. Both speak from their public documentation and source.
"""

import asyncio
import base64
import hmac
import json
import time
from dataclasses import dataclass, field
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

OPENCLAW_TOKEN = "hook-token-of-the-agent"
HERMES_KEY = b"0123456789abcdef0123456789abcdef"
HERMES_SECRET = "whsec_" + base64.b64encode(HERMES_KEY).decode()
SEEN_SECONDS = 3600


@dataclass
class OpenClaw:
    """Takes a turn and runs on; `finish` is what the agent does when its turn ended: it calls back with its lease."""

    taken: list[dict[str, Any]] = field(default_factory=list)

    @property
    def app(self) -> Starlette:
        return Starlette(routes=[Route("/hooks/agent", self._agent, methods=["POST"])])

    async def _agent(self, request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {OPENCLAW_TOKEN}":
            return JSONResponse({"ok": False, "error": "unauthorized"}, 401)
        body = await request.json()
        if not isinstance(body.get("message"), str) or not body["message"]:
            return JSONResponse({"ok": False, "error": "message required"}, 400)
        self.taken.append(body)
        return JSONResponse({"ok": True, "runId": f"run-{len(self.taken)}"}, 202)


async def call_back(url: str, bearer: str, token: int, result: object) -> dict[str, Any]:
    """End a run as an agent does that was handed the bearer of its lease; the answer's one item."""
    async with httpx.AsyncClient(trust_env=False) as http:
        answer = await http.post(
            url,
            headers={"Authorization": f"Bearer {bearer}"},
            json={"items": [{"token": token, "result": result}]},
        )
    [item] = answer.json()["items"]
    assert isinstance(item, dict)
    return item


@dataclass
class Hermes:
    """Accepts a delivery once an hour; with `crash` it answers 500 after it has noted the delivery id."""

    crash: int = 0
    bodies: list[dict[str, Any]] = field(default_factory=list)
    answers: list[tuple[str, int, str]] = field(default_factory=list)
    seen: dict[str, float] = field(default_factory=dict)
    runs: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def app(self) -> Starlette:
        return Starlette(routes=[Route("/webhooks/{route}", self._webhook, methods=["POST"])])

    async def _webhook(self, request: Request) -> Response:
        body = await request.body()
        name, at = request.headers["webhook-id"], request.headers["webhook-timestamp"]
        if not _signed(request.headers.get("webhook-signature", ""), name, at, body):
            return self._answer(name, 401, {"error": "Invalid signature"})
        if time.time() - self.seen.get(name, 0) < SEEN_SECONDS:
            return self._answer(name, 200, {"status": "duplicate", "delivery_id": name})
        self.seen[name] = time.time()
        if self.crash:
            self.crash -= 1
            return self._answer(name, 500, {"status": "error"})
        self.bodies.append(json.loads(body))
        self.runs.set()
        return self._answer(name, 202, {"status": "accepted", "delivery_id": name})

    def _answer(self, name: str, status: int, body: dict[str, Any]) -> Response:
        self.answers.append((name, status, body.get("status", "refused")))
        return JSONResponse(body, status)


def _signed(header: str, name: str, at: str, body: bytes) -> bool:
    if abs(time.time() - int(at)) > 300:
        return False
    seal = base64.b64encode(hmac.digest(HERMES_KEY, f"{name}.{at}.".encode() + body, "sha256")).decode()
    return any(hmac.compare_digest(part, f"v1,{seal}") for part in header.split())


@dataclass
class Canned:
    """Answers each POST with the next of `answers`, the last one for ever."""

    answers: list[Response]
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    @property
    def app(self) -> Starlette:
        return Starlette(routes=[Route("/{path:path}", self._any, methods=["GET", "POST"])])

    async def _any(self, request: Request) -> Response:
        self.requests.append((dict(request.headers), await request.body()))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
