"""A server of MCP over standard input that does what a file says, so that a test can change it while it runs.

The file is JSON: `items` (each an object), `tools` (changes to definitions by name), `page` (items a page), `fail`
(what to do instead of an answer: "error", "die", "hang" or "huge"), `account`. Each call is a line in `calls.jsonl`
beside it. It needs nothing but the standard library, so that it starts in a moment.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

FILE = Path(sys.argv[1])
VERSION = "2025-06-18"
ITEM_TOOLS = ("list_items", "write_items")


def state() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def definitions(changes: dict[str, Any]) -> list[dict[str, Any]]:
    schema = {"type": "object", "properties": {"since": {}, "page": {}, "box": {}}}
    tools: list[dict[str, Any]] = [
        {"name": name, "description": name, "inputSchema": schema, "annotations": {"readOnlyHint": True}}
        for name in (*ITEM_TOOLS, "whoami", "environment")
    ]
    return [tool | changes.get(str(tool["name"]), {}) for tool in tools]


def call(name: str, arguments: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    with (FILE.parent / "calls.jsonl").open("a") as log:
        log.write(json.dumps({"tool": name, "arguments": arguments, "pid": os.getpid()}) + "\n")
    fail = now.get("fail")
    if fail == "die":
        os._exit(3)
    if fail == "hang":
        time.sleep(3600)
    if fail == "error":
        return {"content": [{"type": "text", "text": "it went wrong"}], "isError": True}
    if name == "whoami":
        return text({"login": now.get("account", "bot")})
    if name == "environment":
        descriptors = sorted(int(one.name) for one in Path("/proc/self/fd").iterdir())
        return text(
            {"items": [{"id": "1", "env": dict(os.environ), "folder": str(Path.cwd()), "fds": descriptors}]}
        )
    if fail == "huge":
        return text({"items": [{"id": "x" * 5_000_000}]})
    found = [one for one in now["items"] if one.get("at", 0) >= arguments.get("since", 0)]
    size = now.get("page")
    if size is None:
        return text({"items": found})
    first = int(arguments.get("page") or 0)
    rest = first + size < len(found)
    return text({"items": found[first : first + size], "next": str(first + size) if rest else None})


def text(value: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(value)}]}


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    now, method, parameters = state(), message.get("method"), message.get("params") or {}
    if "id" not in message:
        return None
    if method == "initialize":
        return {
            "protocolVersion": VERSION,
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "items", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": definitions(now.get("tools", {}))}
    if method == "tools/call":
        return call(parameters["name"], parameters.get("arguments") or {}, now)
    return {"error": {"code": -32601, "message": "method not found"}}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        found = answer(message)
        if found is None:
            continue
        body = {"error": found["error"]} if "error" in found else {"result": found}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
