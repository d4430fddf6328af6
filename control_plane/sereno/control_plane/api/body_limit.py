"""A cap on what a request may send, before anything of it is read or anybody is known."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sereno.mailbox.engine.problems import Problem, respond

LARGEST_BODY = 16 * 1024 * 1024


class BodyLimit:
    """ASGI middleware that answers 413 to a larger body, declared or not."""

    def __init__(self, app: ASGIApp, limit: int = LARGEST_BODY) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on unless its body is too large."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if not declared.isdigit() or int(declared) > self._limit:
            await self._refusal()(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._limit:
                raise self._problem()
            return message

        await self._app(scope, counted, send)

    def _problem(self) -> Problem:
        return Problem(413, "too_large", f"a request may have at most {self._limit:,} bytes")

    def _refusal(self) -> ASGIApp:
        return respond(self._problem())
