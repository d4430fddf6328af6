"""Lines of the log: ids that can be looked up, and neither secrets nor personal data, also not in what libraries write."""

import json
import logging
import subprocess
import sys
from typing import Any

import pytest

from sereno.mailbox.engine.logs import hidden, named, redact

TRACEPARENT = "00-612345678abcdef12345678912345678-b7ad6b7169203331-01"
LOGGING = """\
import asyncio, logging
from sereno.mailbox.engine import logs
logs.setup("tested", json_logs=True, level=logging.INFO)
log = logs.logger("part")
async def work():
    with logs.about(traceparent={trace!r}, tenant="acme", message="msg_1", run=None):
        log.info("inside", error="mail@people.example asked", nested={{"password": "hunter2", "to": ["+34 600 123 456"]}})
        await asyncio.create_task(task())
async def task():
    logging.getLogger("library").warning("a library says %s", "srn_abcdefghijklmnop")
asyncio.run(work())
try:
    raise ValueError("card 4111 1111 1111 1111 of mail@people.example")
except ValueError as fault:
    log.error("failed", exc_info=fault)
"""


def test_every_line_is_json_with_ids_and_without_what_is_personal() -> None:
    program = LOGGING.format(trace=TRACEPARENT)
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
    )
    inside, library, failed = [json.loads(line) for line in ran.stderr.splitlines()]
    ids = {"trace": TRACEPARENT[3:35], "tenant": "acme", "message": "msg_1"}
    assert ids.items() <= inside.items()
    assert "run" not in inside
    assert inside["nested"] == {"password": "[redacted]", "to": ["[redacted]"]}
    assert ids.items() <= library.items()
    assert library["event"] == "a library says [redacted]"
    assert "trace" not in failed
    assert "ValueError: card [redacted] of [redacted]" in failed["exception"]
    for canary in ("people.example", "hunter2", "600 123", "4111", "srn_abc"):
        assert canary not in ran.stderr


@pytest.mark.parametrize(
    "event",
    [
        {"trace": "612345678abcdef12345678912345678", "receipt": "0190a1b2-71f4-7123-8456-612345678901"},
        {"event": "started", "count": 612345678, "timestamp": "2026-12-01T00:00:00.123456Z"},
        {"error": "a timeout after 2.5 s", "subject": "sereno.wake.acme.reviewer", "port": 7701},
    ],
)
def test_ids_times_and_numbers_stay_as_they_are(event: dict[str, Any]) -> None:
    assert redact(None, "info", dict(event)) == event


def test_a_trace_that_is_malformed_is_not_named() -> None:
    assert named(traceparent="00-0", tenant="acme", receipt=None) == {"tenant": "acme"}
    assert named(traceparent=None) == {}


def test_what_is_hidden_once_stays_readable() -> None:
    assert hidden("token: [redacted]") == "token: [redacted]"
    assert hidden("two: a@b.example, a@b.example") == "two: [redacted], [redacted]"


def test_logging_needs_no_heavy_library() -> None:
    program = "import sys, sereno.mailbox.worker; print('opentelemetry.sdk' in sys.modules, 'pydantic' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
    )
    assert ran.stdout.split() == ["False", "False"]
    assert logging.getLogger("library").handlers == []
