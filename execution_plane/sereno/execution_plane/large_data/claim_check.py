"""What is withheld from an envelope, and under which address (the pure part of the claim check).

The address is an HMAC under a key of the tenant and the class: equal data of two tenants, or of two classes, has two
addresses, so nothing is shared between them and nobody can find out by an address what another holds.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass, replace

from sereno.envelope.encode import body
from sereno.envelope.envelope import Envelope

INLINE_BYTES = 65_536
"""Data up to this size travels in its envelope (contract, 1)."""
UNCLASSIFIED = "unclassified"
_BINARY = "application/octet-stream"
_REFERENCE = re.compile(r"/v1/data/(public|internal|confidential|unclassified)/([0-9a-f]{64})\Z")


@dataclass(frozen=True, slots=True)
class Withheld:
    """Data that is stored beside its envelope: whose, of which class, under which address."""

    tenant: str
    sensitivity: str
    address: str
    media_type: str
    data: bytes

    @property
    def reference(self) -> str:
        """The `dataref` of the envelope: a path below the URL of the execution plane."""
        return f"/v1/data/{self.sensitivity}/{self.address}"


def withhold(envelope: Envelope, key: bytes) -> tuple[Envelope, Withheld | None]:
    """The envelope as it travels, and what was taken out of it; `key` is the plane's own and never leaves it."""
    data = body(envelope)
    if len(data) <= INLINE_BYTES:
        return envelope, None
    sensitivity = envelope.sensitivity or UNCLASSIFIED
    kept = Withheld(
        tenant=envelope.tenantid,
        sensitivity=sensitivity,
        address=address(key, envelope.tenantid, sensitivity, data),
        media_type=_media_type(envelope),
        data=data,
    )
    return replace(envelope, data=None, dataref=kept.reference), kept


def address(key: bytes, tenant: str, sensitivity: str, data: bytes) -> str:
    """The address of data: 64 hexadecimal digits."""
    of_tenant = hmac.digest(key, f"sereno-data\0{sensitivity}\0{tenant}".encode(), hashlib.sha256)
    return hmac.new(of_tenant, data, hashlib.sha256).hexdigest()


def is_reference(text: str) -> bool:
    """Whether a `dataref` is one of ours; any other is a source's own, to be read with the reader's own rights there."""
    return _REFERENCE.match(text) is not None


def reference_of(text: str) -> tuple[str, str] | None:
    """Class and address in a reference of ours; None for a source's own."""
    found = _REFERENCE.match(text)
    return None if found is None else (found[1], found[2])


def _media_type(envelope: Envelope) -> str:
    declared = envelope.datacontenttype
    if declared is None:
        return _BINARY if isinstance(envelope.data, bytes) else "application/json"
    # It becomes a header, and a quoted parameter may hold anything.
    return declared if declared.isascii() else _BINARY
