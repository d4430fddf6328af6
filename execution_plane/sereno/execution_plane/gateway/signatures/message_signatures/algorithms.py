"""The signature algorithms of RFC 9421, 3.3, each tied to one type of key."""

import hashlib
import hmac

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    SECP384R1,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS, PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512

from sereno.execution_plane.gateway.signatures.keys import Key

_PSS_SALT_BYTES = 64
_RSA = ("rsa-pss-sha512", "rsa-v1_5-sha256")


def algorithm_of(key: Key, claimed: str | None) -> str | None:
    """The algorithm to use with a key: the claimed one when it fits the key, else the key's own; None where none fits.

    The claim never chooses the type of key, so no public key can be taken for a symmetric one (3.2, 7.3.6).
    """
    fitting = _fitting(key)
    if claimed is None:
        return fitting[0] if fitting else None
    return claimed if claimed in fitting else None


def _fitting(key: Key) -> tuple[str, ...]:
    match key:
        case bytes():
            return ("hmac-sha256",)
        case Ed25519PublicKey():
            return ("ed25519",)
        case RSAPublicKey():
            return _RSA
        case EllipticCurvePublicKey(curve=SECP256R1()):
            return ("ecdsa-p256-sha256",)
        case EllipticCurvePublicKey(curve=SECP384R1()):
            return ("ecdsa-p384-sha384",)
        case _:
            return ()


def holds(key: Key, algorithm: str, base: bytes, signature: bytes) -> bool:
    """Whether the signature of the base holds under this key and an algorithm that fits it."""
    try:
        match key:
            case bytes():
                return hmac.compare_digest(signature, hmac.digest(key, base, hashlib.sha256))
            case Ed25519PublicKey():
                key.verify(signature, base)
            case RSAPublicKey() if algorithm == "rsa-pss-sha512":
                key.verify(signature, base, PSS(MGF1(SHA512()), _PSS_SALT_BYTES), SHA512())
            case RSAPublicKey():
                key.verify(signature, base, PKCS1v15(), SHA256())
            case EllipticCurvePublicKey():
                key.verify(_der(key, signature), base, ECDSA(_hash(key)))
    except InvalidSignature:
        return False
    return True


def _hash(key: EllipticCurvePublicKey) -> SHA256 | SHA384:
    return SHA256() if isinstance(key.curve, SECP256R1) else SHA384()


def _der(key: EllipticCurvePublicKey, signature: bytes) -> bytes:
    """The two numbers of fixed width (3.3.4) in the spelling that the library reads."""
    width = key.key_size // 8
    if len(signature) != 2 * width:
        raise InvalidSignature
    halves = (signature[:width], signature[width:])
    return encode_dss_signature(*(int.from_bytes(half, "big") for half in halves))
