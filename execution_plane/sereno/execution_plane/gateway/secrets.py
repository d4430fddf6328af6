"""Webhook secrets, resolved on the execution plane from `env:NAME` and `file:PATH`; they never travel."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sereno.mailbox.engine.telemetry import logger

KEEP_SECONDS = 5.0
_log = logger("gateway")


class Secrets:
    """The bytes behind references, read again every few seconds so that a rotated file is seen.

    A reference that names nothing, or something blank, yields no secret: whoever knows the empty key could sign.
    """

    def __init__(
        self, environment: Mapping[str, str] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._environment = os.environ if environment is None else environment
        self._clock = clock
        self._known: dict[str, tuple[float, bytes | None]] = {}

    def active(self, references: Sequence[str]) -> tuple[bytes, ...]:
        """The secrets of an endpoint that can be used now, in order; empty when there is none."""
        found = (self._resolve(reference) for reference in references)
        return tuple(secret for secret in found if secret is not None)

    def _resolve(self, reference: str) -> bytes | None:
        now = self._clock()
        read_at, secret = self._known.get(reference, (float("-inf"), None))
        if now - read_at < KEEP_SECONDS:
            return secret
        secret = self._read(reference)
        self._known[reference] = (now, secret)
        if secret is None:
            _log.warning("webhook_key_missing", reference=reference)
        return secret

    def _read(self, reference: str) -> bytes | None:
        kind, _, place = reference.partition(":")
        if kind == "env":
            value = self._environment.get(place, "").encode()
        elif kind == "file":
            value = _file(Path(place))
        else:
            return None
        return value if value.strip() else None


def _file(path: Path) -> bytes:
    try:
        # Editors end a file with a line break that is not part of the secret.
        return path.read_bytes().rstrip(b"\r\n")
    except OSError:
        return b""
