"""The model of the demonstrations: a small server on the loopback that speaks Chat Completions and judges by a word.

It stands where a real model would, so that a demonstration needs no account and always ends the same way.
"""

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "word-spotter"


@dataclass(slots=True)
class WordSpotter:
    """Where the model answers, for which word it fires, and how many calls it had."""

    word: str
    url: str = ""
    calls: list[int] = field(default_factory=list)

    @property
    def declared(self) -> dict[str, str]:
        """The model as `SERENO_EVALUATORS` declares it."""
        return {"name": "demo", "model": MODEL, "url": self.url, "egress": "local"}

    def judge(self, prompt: str) -> str:
        """One verdict for each item of a prompt, with the line in which the word stands as its evidence."""
        verdicts = [self._verdict(line) for line in prompt.splitlines()[1:-1]]
        self.calls.append(len(verdicts))
        return json.dumps(verdicts[0] if len(verdicts) == 1 else {"verdicts": verdicts})

    def _verdict(self, line: str) -> dict[str, Any]:
        _, item, data = line.split(" ", 2)
        message = str(json.loads(data)["data"].get("message", ""))
        found = next((text for text in message.splitlines() if self.word in text.lower()), None)
        evidence = [] if found is None else [{"item": item, "quote": found}]
        confidence = 0.95 if found is None else 0.9
        return {"item": item, "fires": found is not None, "confidence": confidence, "evidence": evidence}


@contextlib.contextmanager
def word_spotter(word: str) -> Iterator[WordSpotter]:
    """A model that runs meanwhile."""
    model = WordSpotter(word)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(model))
    model.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(model: WordSpotter) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            body = _completion(model.judge(request["messages"][-1]["content"])).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing: the screen belongs to the demonstration."""

    return Handler


def _completion(text: str) -> str:
    message = {"role": "assistant", "content": text}
    return json.dumps(
        {
            "id": "demo",
            "object": "chat.completion",
            "created": 0,
            "model": MODEL,
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }
    )
