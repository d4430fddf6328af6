"""A small server that speaks Chat Completions and answers what a test scripted: the real client path is what is tested."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server sends: a whole body, or the text of a completion."""

    text: str | None = ""
    finish: str = "stop"
    status: int = 200
    body: bytes | None = None
    refusal: str | None = None
    after: threading.Event | None = None
    tokens: tuple[int, int] = (100, 20)


def verdict(fires: bool, confidence: float = 0.9, *evidence: tuple[str, str]) -> Reply:
    """A completion with a verdict about one item."""
    quotes = [{"item": item, "quote": quote} for item, quote in evidence]
    return Reply(json.dumps({"fires": fires, "confidence": confidence, "evidence": quotes}))


Script = Callable[[dict[str, Any]], Reply]


@dataclass(slots=True)
class ScriptedModel:
    """The address of the server, what it was asked, and the script: a function of the request's body."""

    script: Script
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)


@contextmanager
def serving(script: Script) -> Iterator[ScriptedModel]:
    """Serve on loopback until the block ends."""
    model = ScriptedModel(script)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(model))
    model.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            model.requests.append(request)
            model.authorizations.append(self.headers.get("authorization"))
            reply = model.script(request)
            if reply.after is not None:
                reply.after.wait(60)
            body = reply.body if reply.body is not None else _completion(request, reply)
            self.send_response(reply.status)
            self.send_header("content-type", JSON)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                return

        def log_message(self, *arguments: object) -> None:
            pass

    return Handler


def _completion(request: dict[str, Any], reply: Reply) -> bytes:
    message = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
    taken, given = reply.tokens
    return json.dumps(
        {
            "id": "completion",
            "object": "chat.completion",
            "created": 1,
            "model": request["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": reply.finish}],
            "usage": {
                "prompt_tokens": taken,
                "completion_tokens": given,
                "total_tokens": taken + given,
            },
        }
    ).encode()
