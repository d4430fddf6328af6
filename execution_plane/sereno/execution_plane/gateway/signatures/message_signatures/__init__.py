"""HTTP message signatures (RFC 9421) with content digests (RFC 9530)."""

from sereno.execution_plane.gateway.signatures.message_signatures.scheme import MessageSignatures

__all__ = ["MessageSignatures"]
