"""Webhook secrets, resolved on the execution plane: `env:NAME` and `file:PATH`, which never travel, and sealed ones."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from sereno.mailbox.engine.telemetry import logger
from sereno.subscriptions import sealed

KEEP_SECONDS = 5.0
_log = logger("gateway")


class Secrets:
    """The bytes behind references, read again every few seconds so that a rotated file is seen.

    A reference that names nothing, or something blank, yields no secret: whoever knows the empty key could sign.
    """

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sealing_keys: Mapping[str, X25519PrivateKey] | None = None,
    ) -> None:
        self._environment = os.environ if environment is None else environment
        self._clock = clock
        self._sealing_keys = sealing_keys or {}
        self._known: dict[tuple[tuple[str, ...], str], tuple[float, tuple[bytes, ...]]] = {}

    def active(self, references: tuple[str, ...], *, bound_to: str = "") -> tuple[bytes, ...]:
        """The secrets of an endpoint that can be used now, in order; `bound_to` names it, as `tenant/name`."""
        now, key = self._clock(), (references, bound_to)
        read_at, secrets = self._known.get(key, (float("-inf"), ()))
        if now - read_at < KEEP_SECONDS:
            return secrets
        found = [self._resolve(reference, bound_to) for reference in references]
        secrets = tuple(secret for secret in found if secret is not None)
        self._known[key] = (now, secrets)
        return secrets

    def _resolve(self, reference: str, bound_to: str) -> bytes | None:
        secret = self._read(reference, bound_to)
        if secret is None:
            _log.warning("webhook_key_missing", reference=_shown(reference))
        return secret

    def _read(self, reference: str, bound_to: str) -> bytes | None:
        kind, _, place = reference.partition(":")
        if kind == "env":
            value = self._environment.get(place, "").encode()
        elif kind == "file":
            value = _file(Path(place))
        elif kind == "sealed":
            value = sealed.unseal(reference, self._sealing_keys, bound_to=bound_to) or b""
        else:
            return None
        return value if value.strip() else None


def _shown(reference: str) -> str:
    return (
        f"sealed secret {sealed.fingerprint(reference)}" if reference.startswith(sealed.PREFIX) else reference
    )


def _file(path: Path) -> bytes:
    try:
        # Editors end a file with a line break that is not part of the secret.
        return path.read_bytes().rstrip(b"\r\n")
    except OSError:
        return b""
