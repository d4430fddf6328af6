"""The cap on a request, whatever a sender writes into Content-Length."""

import pytest
from starlette.types import Message, Receive, Scope, Send

from sereno.control_plane.api import body_limit as control
from sereno.execution_plane.api import body_limit as execution


async def _app(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def _status(limit: control.BodyLimit | execution.BodyLimit, length: bytes) -> int:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await limit({"type": "http", "headers": [(b"content-length", length)]}, receive, send)
    status: int = sent[0]["status"]
    return status


@pytest.mark.parametrize(
    ("length", "status"),
    [
        (b"2", 204),
        (b"", 204),
        (b"0" * 5000 + b"2", 204),
        (b"9" * 5000, 413),
        (b"99999999", 413),
    ],
    ids=["short", "none", "zeros", "digits", "long"],
)
@pytest.mark.parametrize("limit", [control.BodyLimit(_app), execution.BodyLimit(_app)])
async def test_a_declared_length_is_a_number_of_any_length(
    limit: control.BodyLimit | execution.BodyLimit, length: bytes, status: int
) -> None:
    assert await _status(limit, length) == status
