"""The public half of the execution plane's sealing key: with it secrets are sealed, and none can be opened."""

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

from sereno.subscriptions.sealed import load_public_key


class SealingKeyError(Exception):
    """The configured key cannot be used; the message is fit for a person."""


def load(path: Path | None) -> X25519PublicKey | None:
    """The key in the file; None where none is configured. Raises `SealingKeyError`."""
    if path is None:
        return None
    try:
        return load_public_key(path.read_text(encoding="ascii"))
    except (OSError, UnicodeDecodeError) as fault:
        raise SealingKeyError(f"{path}: the sealing key cannot be read: {fault}") from fault
    except ValueError as fault:
        raise SealingKeyError(f"{path}: {fault}") from fault
