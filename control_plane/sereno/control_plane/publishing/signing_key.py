"""The key that signs manifests, and the id under which the execution plane pins its public half."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key


class SigningKeyError(Exception):
    """The file of the signing key cannot be used; the message is fit for a person."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """An Ed25519 key with its id."""

    private: Ed25519PrivateKey
    id: str


def key_id(public: Ed25519PublicKey) -> str:
    """The first 16 hexadecimal digits of the SHA-256 over the 32 bytes of the public key."""
    return hashlib.sha256(public.public_bytes_raw()).hexdigest()[:16]


def load(path: Path) -> SigningKey:
    """The key in a PEM file without a password. Raises `SigningKeyError`."""
    try:
        private = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as fault:
        raise SigningKeyError(f"{path}: the signing key cannot be read: {fault.strerror}") from fault
    except (ValueError, TypeError):
        raise SigningKeyError(f"{path}: expected an Ed25519 private key in PEM, without a password") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise SigningKeyError(f"{path}: expected an Ed25519 key; manifests are signed by no other kind")
    return SigningKey(private, key_id(private.public_key()))
