"""Sealed secrets: what only the execution plane can open, so that the control plane never keeps a secret.

X25519 with a fresh key for each secret, HKDF-SHA256, ChaCha20-Poly1305. A sealed secret is bound to its endpoint: moved
to another it does not open. As text it is `sealed:KEY_ID:BASE64URL`, the bytes being public key and ciphertext.
"""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

PREFIX: Final = "sealed:"
_KEY_BYTES = 32
_CONTEXT = b"sereno/sealed-secret/v1"
# Each key encrypts one message alone, so the nonce may be fixed.
_NONCE = bytes(12)
_ID_DIGITS, _FINGERPRINT_DIGITS = 16, 12


def key_id(public: X25519PublicKey) -> str:
    """The first 16 hex digits of the SHA-256 over the 32 bytes of the key."""
    return hashlib.sha256(public.public_bytes_raw()).hexdigest()[:_ID_DIGITS]


def seal(secret: bytes, recipient: X25519PublicKey, once: X25519PrivateKey, *, bound_to: str) -> str:
    """The secret, sealed for the recipient; `once` must be a new key that is used for nothing else."""
    own = once.public_key().public_bytes_raw()
    key = _derived(once.exchange(recipient), own, recipient.public_bytes_raw())
    sealed = own + ChaCha20Poly1305(key).encrypt(_NONCE, secret, bound_to.encode())
    return f"{PREFIX}{key_id(recipient)}:{base64.urlsafe_b64encode(sealed).decode().rstrip('=')}"


def unseal(text: str, keys: Mapping[str, X25519PrivateKey], *, bound_to: str) -> bytes | None:
    """The secret in a sealed text; None when it is for another key or endpoint, or was changed."""
    id_, _, encoded = text.removeprefix(PREFIX).partition(":")
    private, sealed = keys.get(id_), _decoded(encoded)
    if private is None or sealed is None or len(sealed) <= _KEY_BYTES:
        return None
    own, ciphertext = sealed[:_KEY_BYTES], sealed[_KEY_BYTES:]
    try:
        shared = private.exchange(X25519PublicKey.from_public_bytes(own))
        key = _derived(shared, own, private.public_key().public_bytes_raw())
        return ChaCha20Poly1305(key).decrypt(_NONCE, ciphertext, bound_to.encode())
    except (InvalidTag, ValueError):
        return None


def fingerprint(text: str) -> str:
    """Twelve hex digits by which people tell sealed secrets apart; they say nothing about the secret."""
    return hashlib.sha256(text.encode()).hexdigest()[:_FINGERPRINT_DIGITS]


def load_public_key(text: str) -> X25519PublicKey:
    """The X25519 public key in base64 `text` (32 bytes); ValueError says what was expected."""
    try:
        return X25519PublicKey.from_public_bytes(base64.b64decode(text.strip(), validate=True))
    except (binascii.Error, ValueError):
        raise ValueError("expected an X25519 public key: 32 bytes in base64") from None


def dump_public_key(public: X25519PublicKey) -> str:
    """The 32 bytes of the key in base64."""
    return base64.b64encode(public.public_bytes_raw()).decode()


def _derived(shared: bytes, own: bytes, recipient: bytes) -> bytes:
    return HKDF(SHA256(), _KEY_BYTES, None, _CONTEXT + own + recipient).derive(shared)


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
