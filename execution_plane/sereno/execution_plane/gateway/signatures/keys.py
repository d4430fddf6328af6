"""Keys as people write them into a secret: text of a symmetric key, or a public key in one of its spellings."""

import base64
import binascii
import re

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key, load_pem_public_key

PublicKey = Ed25519PublicKey | RSAPublicKey | EllipticCurvePublicKey
Key = bytes | PublicKey

_HEX_KEY = re.compile(rb"[0-9a-fA-F]{64}\Z")
_ED25519 = b"whpk_"
_SHORTEST_RSA = 2048
_KEY_BYTES = 32
_FIELD = 2**255 - 19
# y-coordinates of the points of small order: under such a key a forged signature holds for any message.
_SMALL_ORDER = frozenset(
    {
        0,
        1,
        _FIELD - 1,
        0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
        0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
    }
)


def base64_bytes(text: str | bytes) -> bytes | None:
    """The bytes that strict base64 names (standard alphabet, padded), or None."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def load(secret: bytes) -> Key | None:
    """The key that a secret names, or None where it is malformed.

    `-----BEGIN PUBLIC KEY-----` (PEM), `spki:BASE64` and `whpk_BASE64` (Ed25519) are public keys, `base64:BASE64` is
    a symmetric key; anything else is a symmetric key as it stands. So no public key serves as a symmetric one.
    """
    text = secret.strip()
    if text.startswith(b"-----BEGIN"):
        return _public(text, pem=True)
    if text.startswith(_ED25519):
        return ed25519_of(base64_bytes(text.removeprefix(_ED25519)) or b"")
    kind, separator, rest = text.partition(b":")
    if separator and kind == b"spki":
        der = base64_bytes(rest)
        return None if der is None else _public(der, pem=False)
    if separator and kind == b"base64":
        return base64_bytes(rest) or None
    return secret


def ed25519(secret: bytes) -> Ed25519PublicKey | None:
    """The Ed25519 key in a secret: 64 hex digits, 32 bytes in base64 (also after `whpk_`), SPKI or PEM; else None."""
    text = secret.strip()
    if _HEX_KEY.match(text):
        return ed25519_of(bytes.fromhex(text.decode()))
    raw = base64_bytes(text.removeprefix(_ED25519))
    if raw is not None and len(raw) == _KEY_BYTES:
        return ed25519_of(raw)
    found = load(text)
    return found if isinstance(found, Ed25519PublicKey) else None


def ed25519_of(raw: bytes) -> Ed25519PublicKey | None:
    """The key with these 32 bytes, or None where it is none or one under which anybody can sign."""
    if len(raw) != _KEY_BYTES or int.from_bytes(raw, "little") % 2**255 % _FIELD in _SMALL_ORDER:
        return None
    return Ed25519PublicKey.from_public_bytes(raw)


def _public(encoded: bytes, *, pem: bool) -> PublicKey | None:
    try:
        found = load_pem_public_key(encoded) if pem else load_der_public_key(encoded)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    if isinstance(found, Ed25519PublicKey):
        return ed25519_of(found.public_bytes_raw())
    if isinstance(found, RSAPublicKey):
        return found if found.key_size >= _SHORTEST_RSA else None
    return found if isinstance(found, EllipticCurvePublicKey) else None
