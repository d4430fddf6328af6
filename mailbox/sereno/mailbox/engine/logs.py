"""Logs of a process: JSON lines with ids that can be looked up, without secrets and without personal data."""

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import structlog

from sereno.envelope.trace_context import is_traceparent, trace_of
from sereno.mailbox.engine.sensitive import NUMBERS, PATTERNS, Pattern

_SECRET_KEY = re.compile(r"secret|password|authorization|signature|seed|bearer|api_key|cookie", re.IGNORECASE)
_SECRET_TEXT = re.compile(r"srnl?_[A-Za-z0-9_-]{8,}|://[^/\s:@]+:[^/\s@]+@")
_HIDDEN = "[redacted]"
# Ids of ours and what structlog itself writes: digits in them are no telephone numbers.
_PLAIN = frozenset(
    {
        "trace",
        "tenant",
        "receipt",
        "subscription",
        "message",
        "run",
        "timestamp",
        "level",
        "logger",
        "process",
    }
)


def logger(name: str, **bound: object) -> Any:
    """A structured logger; ids go in as keywords: `tenant`, `receipt`, `subscription`, `message`, `run`, `token`."""
    return structlog.stdlib.get_logger(name, **bound)


def about(*, traceparent: object = None, **ids: object) -> AbstractContextManager[None]:
    """Every line of this task, and of those that it starts, names these ids while the body runs; None is left out."""
    return structlog.contextvars.bound_contextvars(**named(traceparent=traceparent, **ids))


def named(*, traceparent: object = None, **ids: object) -> dict[str, object]:
    """The ids as a line of a log has them, the trace among them; None is left out."""
    found = {name: value for name, value in ids.items() if value is not None}
    if isinstance(traceparent, str) and is_traceparent(traceparent):
        found["trace"] = trace_of(traceparent)
    return found


def setup(process: str, *, json_logs: bool, level: int) -> None:
    """Configure the logs of this process, those of libraries too."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        redact,
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if json_logs else structlog.dev.ConsoleRenderer()
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(process=process)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(handlers=[handler], level=level, force=True)
    logging.getLogger("uvicorn.access").setLevel(logging.WARNING)
    logging.getLogger("httpx").setLevel(logging.WARNING)


def redact(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor that hides values of secret-looking keys, and secrets and personal data in all others."""
    return {key: _hide(key, value) for key, value in event.items()}


def _hide(key: str, value: object) -> object:
    if _SECRET_KEY.search(key):
        return _HIDDEN
    if isinstance(value, str):
        return _SECRET_TEXT.sub(_HIDDEN, value) if key in _PLAIN else hidden(value)
    if isinstance(value, Mapping):
        return {name: _hide(str(name), inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_hide(key, inner) for inner in value]
    return value


def hidden(text: str) -> str:
    """The text without secrets and personal data."""
    text = _SECRET_TEXT.sub(_HIDDEN, text)
    for pattern in (*PATTERNS, *NUMBERS):
        text = pattern.expression.sub(partial(_instead, pattern), text)
    return text


def _instead(pattern: Pattern, found: re.Match[str]) -> str:
    group = "value" if "value" in pattern.expression.groupindex else 0
    value = found.group(group)
    if not pattern.accepts(value) or _HIDDEN in value:
        return found.group()
    return found.group().replace(value, _HIDDEN)
