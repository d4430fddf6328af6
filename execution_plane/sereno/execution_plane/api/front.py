"""The door of the gateway process: webhooks go straight in, everything else to the framework.

A webhook costs two thirds less this way. The framework keeps the same route, which describes it.
"""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sereno.execution_plane.api.body_limit import BodyLimit
from sereno.execution_plane.gateway.webhook import WebhookGateway
from sereno.mailbox.engine.problems import Problem, respond

_PATH = "/in/"


class Front:
    """ASGI application: `POST /in/{endpoint_token}` is the gateway's, what remains goes to `app`."""

    def __init__(self, webhooks: WebhookGateway, app: ASGIApp) -> None:
        self._webhooks = webhooks
        self._direct = BodyLimit(self._receive)
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand one request on."""
        direct = scope["type"] == "http" and scope["method"] == "POST" and scope["path"].startswith(_PATH)
        token = scope["path"][len(_PATH) :] if direct else ""
        await (self._direct if token and "/" not in token else self._app)(scope, receive, send)

    async def _receive(self, scope: Scope, receive: Receive, send: Send) -> None:
        response: Response
        try:
            response = await self._webhooks.post(scope["path"][len(_PATH) :], Request(scope, receive))
        except HTTPException as refused:
            problem = Problem(refused.status_code, "too_large", refused.detail)
            response = respond(problem, refused.headers)
        await response(scope, receive, send)
