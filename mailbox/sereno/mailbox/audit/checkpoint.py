"""Signed checkpoints (Ed25519): the end of a chain as it was, kept outside the database. Pure.

What they sign is the root of an RFC 6962 Merkle tree over the ends of all chains of a plane.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from sereno.mailbox.audit.chain import Head, canonical

_CONTEXT = b"sereno/audit/checkpoint/v1\n"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The ends of a plane's chains at one moment, by tenant, and the root over them."""

    plane: str
    taken_at: str
    heads: Mapping[str, Head]
    others: Mapping[str, str]
    """The roots of the other plane's last checkpoints, by plane: each plane's checkpoint covers the other's."""

    def content(self) -> dict[str, Any]:
        """As it is signed."""
        ends = {
            tenant: {"seq": head.seq, "hash": head.hash.hex()} for tenant, head in sorted(self.heads.items())
        }
        return {
            "plane": self.plane,
            "taken_at": self.taken_at,
            "heads": ends,
            "root": root(self.heads).hex(),
            "others": dict(self.others),
        }


def root(heads: Mapping[str, Head]) -> bytes:
    """The Merkle tree hash (RFC 6962, section 2.1) over the ends, in order of tenant."""
    leaves = [
        sha256(b"\0" + canonical([tenant, head.seq, head.hash.hex()])).digest()
        for tenant, head in sorted(heads.items())
    ]
    return _tree(leaves)


def _tree(leaves: Sequence[bytes]) -> bytes:
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\1" + _tree(leaves[:split]) + _tree(leaves[split:])).digest()


def sign(checkpoint: Checkpoint, key: Ed25519PrivateKey, key_id: str) -> bytes:
    """One line of JSON: what was signed, with the signature."""
    payload = canonical(checkpoint.content())
    signature = key.sign(_CONTEXT + payload)
    return orjson.dumps(
        {
            "payload": base64.b64encode(payload).decode(),
            "signature": base64.b64encode(signature).decode(),
            "key_id": key_id,
        }
    )


def read(line: bytes, trusted: Mapping[str, Ed25519PublicKey]) -> Checkpoint | str:
    """The checkpoint in a line when a trusted key signed it; else a sentence why not."""
    try:
        outer = orjson.loads(line)
        payload, signature = base64.b64decode(outer["payload"]), base64.b64decode(outer["signature"])
        public = trusted.get(outer["key_id"])
        if public is None:
            return f"signed by the key {outer['key_id']!r}, which is not trusted here"
        public.verify(signature, _CONTEXT + payload)
        content = orjson.loads(payload)
        heads = {
            tenant: Head(end["seq"], bytes.fromhex(end["hash"])) for tenant, end in content["heads"].items()
        }
        found = Checkpoint(content["plane"], content["taken_at"], heads, content["others"])
    except InvalidSignature:
        return "its signature does not hold"
    except (ValueError, KeyError, TypeError):
        return "it is no checkpoint"
    return found if root(heads).hex() == content["root"] else "its root does not cover its heads"


def key_of(line: bytes) -> str:
    """The id of the key that a line says it is signed with."""
    return str(orjson.loads(line)["key_id"])


def claimed_plane(line: bytes) -> str | None:
    """The plane that a line names, before anything of it is checked; None when it is no checkpoint."""
    try:
        return str(orjson.loads(base64.b64decode(orjson.loads(line)["payload"]))["plane"])
    except (ValueError, KeyError, TypeError):
        return None
