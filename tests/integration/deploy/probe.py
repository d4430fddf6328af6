"""What a hostile `--exec` command would try, with the addresses already known: run by test_exec_isolation."""

import asyncio
import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path


async def postgres(url: str) -> str:
    import asyncpg

    try:
        await asyncpg.connect(url, passfile="none", timeout=5)
    except (asyncpg.PostgresError, OSError) as fault:
        return type(fault).__name__
    return "reached"


async def nats(url: str) -> str:
    host, _, port = url.removeprefix("nats://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    await reader.readline()
    writer.write(b'CONNECT {"verbose":true}\r\nPUB sereno.ingress.default 2\r\n{}\r\nPING\r\n')
    answer = await reader.readline()
    writer.close()
    return answer.decode().strip()


def admin(url: str) -> int:
    request = urllib.request.Request(
        f"{url}/v1/apply",
        b'{"documents": ""}',
        {"Authorization": f"Bearer {os.environ['SERENO_TOKEN']}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as fault:
        return fault.code


def main() -> None:
    control_url, postgres_url, nats_url, report = sys.argv[1:]
    message = json.load(sys.stdin)
    found = {
        "environment": sorted(os.environ),
        "postgres": asyncio.run(postgres(postgres_url)),
        "nats": asyncio.run(nats(nats_url)),
        "admin": admin(control_url),
        "token": message["lease"]["token"],
    }
    Path(report).write_text(json.dumps(found), encoding="utf-8")


main()
