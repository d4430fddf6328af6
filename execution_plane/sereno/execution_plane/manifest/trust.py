"""The keys whose signature on a manifest counts here; they come from this plane's own configuration."""

from collections.abc import Mapping
from pathlib import Path

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.engine.settings import Settings
from sereno.subscriptions.snapshot import load_public_key

MAX_KEYS = 2
"""One, and a second while the first is being replaced."""


class TrustError(Exception):
    """The file of trusted keys cannot be used; the message is fit for a person."""


def read(path: Path | None) -> Mapping[str, Ed25519PublicKey]:
    """The trusted keys by key id, from JSON `{"key id": "base64 of 32 bytes"}`. Raises `TrustError`."""
    if path is None:
        raise TrustError("no trusted manifest keys are configured; set SERENO_MANIFEST_KEYS_FILE")
    try:
        written = orjson.loads(path.read_bytes())
    except OSError as fault:
        raise TrustError(f"the trusted manifest keys in {path} cannot be read: {fault.strerror}") from fault
    except orjson.JSONDecodeError as fault:
        raise TrustError(f"the trusted manifest keys in {path} are not JSON: {fault}") from fault
    if not isinstance(written, dict) or not 0 < len(written) <= MAX_KEYS:
        raise TrustError(f"{path}: expected one or {MAX_KEYS} keys, as an object from key id to base64")
    return {key_id: _key(path, key_id, text) for key_id, text in written.items()}


def configured(settings: Settings) -> Mapping[str, Ed25519PublicKey]:
    """The keys that the settings of this process pin. Raises `CommandError` with the sentence."""
    try:
        return read(settings.manifest_keys_file)
    except TrustError as fault:
        raise CommandError(str(fault)) from fault


def _key(path: Path, key_id: str, text: object) -> Ed25519PublicKey:
    try:
        return load_public_key(str(text))
    except ValueError as fault:
        raise TrustError(f"{path}: key {key_id}: {fault}") from fault
