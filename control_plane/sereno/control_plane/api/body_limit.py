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
        declared = dict(scope["headers"]).get(b"content-length", b"0").lstrip(b"0")
        if (
            len(declared) > len(str(self._limit))
            or int(declared if declared.isdigit() else b"0") > self._limit
        ):
            await self._refusal()(scope, receive, send)
            return
        exceeded = await self._count(scope, receive, send)
        if exceeded:
            await self._refusal()(scope, receive, send)

    async def _count(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Run the application; whether the body was too large and nothing was answered yet."""
        received, started = 0, False

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            # To the application it looks as if the client had gone.
            return message if received <= self._limit else {"type": "http.disconnect"}

        async def guarded(message: Message) -> None:
            nonlocal started
            if received <= self._limit or started:
                started = True
                await send(message)

        await self._app(scope, counted, guarded)
        return received > self._limit and not started

    def _refusal(self) -> ASGIApp:
        return respond(Problem(413, "too_large", f"a request may have at most {self._limit:,} bytes"))
