"""How large a tenant's manifest may become: it travels as one NATS message."""

from sereno.control_plane.catalog.refusal import Refusal

LARGEST_BYTES = 900_000
"""Of the signed manifest as JSON; the payload limit of NATS is 1 MiB by default."""

# `"kind/name":{"sha256":"<64>","version":<up to 16>},` without kind and name, and what stands around all entries.
_ENTRY = 112
_FRAME = 1_024


def estimate(count: int, characters: int) -> int:
    """The bytes of a signed manifest at most, for so many objects whose kinds and names have so many characters."""
    payload = _FRAME + count * _ENTRY + characters
    # Base64 writes four characters for three bytes.
    return (payload + 2) // 3 * 4 + _FRAME


def too_large(tenant: str, count: int, characters: int) -> Refusal | None:
    """The refusal of a catalog whose manifest could not be sent."""
    if estimate(count, characters) <= LARGEST_BYTES:
        return None
    message = (
        f"tenant {tenant} would have {count} objects, more than one manifest can name"
        f" ({LARGEST_BYTES:,} bytes); spread them over several tenants"
    )
    return Refusal("too_large", message)
