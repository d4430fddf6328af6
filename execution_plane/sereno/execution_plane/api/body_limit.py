"""A hard cap on what a request may send, before anybody is known (contract, 7)."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sereno.mailbox.engine.problems import Problem, respond
from sereno.subscriptions.models.endpoint import LARGEST_BODY

# A sender that is cut off in the middle of its body never reads why; so much more is read and dropped first.
DROPPED_BYTES = 4 * LARGEST_BODY
_LARGEST = str(LARGEST_BODY)
_SENTENCE = f"a request may have at most {LARGEST_BODY:,} bytes"
_CLOSE = {"Connection": "close"}


class BodyLimit:
    """ASGI middleware that answers 413 to a larger body, whether its length was declared or not."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on unless its body is too large."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"0").lstrip(b"0")
        if len(declared) > len(_LARGEST) or (declared.isdigit() and int(declared) > LARGEST_BODY):
            await _drop(receive)
            await respond(Problem(413, "too_large", _SENTENCE), _CLOSE)(scope, receive, send)
            return
        await self._app(scope, _counted(receive), send)


def _counted(receive: Receive) -> Receive:
    received = 0

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > LARGEST_BODY:
            if message.get("more_body", False):
                await _drop(receive)
            raise HTTPException(413, _SENTENCE, _CLOSE)
        return message

    return counted


async def _drop(receive: Receive) -> None:
    dropped, more = 0, True
    while more and dropped <= DROPPED_BYTES:
        message = await receive()
        dropped += len(message.get("body", b""))
        more = message["type"] == "http.request" and message.get("more_body", False)
