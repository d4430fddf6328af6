"""The HTTP server of the gateway with nothing behind it: what a webhook cannot be faster than. Prints its URL."""

import asyncio
import signal
import sys

import uvloop
from starlette.types import Receive, Scope, Send

from sereno.mailbox.engine import http_server


async def empty(_scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body", False):
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def main() -> None:
    listening = http_server.bind("127.0.0.1", 0)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    sys.stdout.write(f"http://127.0.0.1:{listening.getsockname()[1]}/\n")
    sys.stdout.flush()
    await http_server.serve(empty, listening, stop)


if __name__ == "__main__":
    uvloop.run(main())
