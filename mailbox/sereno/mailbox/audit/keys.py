"""The keys of checkpoints: the private one with which a plane signs, and the public ones of both, retired ones too."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from sereno.subscriptions.snapshot import dump_public_key, load_public_key


class AuditKeyError(Exception):
    """A file of keys cannot be used; the message is fit for a person."""


@dataclass(frozen=True, slots=True)
class AuditKey:
    """An Ed25519 key with its id."""

    private: Ed25519PrivateKey
    id: str


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A public key, and until when what it signed counts: for ever, unless it was retired."""

    public: Ed25519PublicKey
    retired_at: str | None = None


Trusted = Mapping[str, TrustedKey]
"""By key id."""


def key_id(public: Ed25519PublicKey) -> str:
    """The first 16 hexadecimal digits of the SHA-256 over the 32 bytes of the public key."""
    return hashlib.sha256(public.public_bytes_raw()).hexdigest()[:16]


def load(path: Path) -> AuditKey:
    """The key in a PEM file without a password. Raises `AuditKeyError`."""
    try:
        private = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as fault:
        raise AuditKeyError(f"{path}: the audit key cannot be read: {fault.strerror}") from fault
    except (ValueError, TypeError):
        raise AuditKeyError(f"{path}: expected an Ed25519 private key in PEM, without a password") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise AuditKeyError(f"{path}: expected an Ed25519 key; checkpoints are signed by no other kind")
    return AuditKey(private, key_id(private.public_key()))


def trusted(path: Path | None, own: AuditKey | None = None) -> Trusted:
    """The keys in JSON `{"key id": {"public": base64, "retired_at": instant or null}}`, and one's own.

    Raises `AuditKeyError`.
    """
    found = {} if own is None else {own.id: TrustedKey(own.private.public_key())}
    if path is None:
        return found
    try:
        written = orjson.loads(path.read_bytes())
        return {**found, **{name: _key(said) for name, said in written.items()}}
    except OSError as fault:
        raise AuditKeyError(f"{path}: the audit keys cannot be read: {fault.strerror}") from fault
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise AuditKeyError(
            f"{path}: expected keys by their id, each with `public` in base64: {fault}"
        ) from fault


def _key(said: Mapping[str, str | None]) -> TrustedKey:
    return TrustedKey(load_public_key(str(said["public"])), said.get("retired_at"))


def written(keys: Iterable[tuple[Ed25519PublicKey, str | None]]) -> bytes:
    """The JSON that `trusted` reads: public keys, each with when it was retired."""
    content = {key_id(public): {"public": dump_public_key(public), "retired_at": at} for public, at in keys}
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
