"""The one protocol that every signature scheme keeps."""

from collections.abc import Sequence
from typing import ClassVar, Protocol

from sereno.execution_plane.gateway.headers import Headers


class Scheme(Protocol):
    """Answers whether the raw bytes of a body were signed with one of the active secrets."""

    name: ClassVar[str]
    signs_time: ClassVar[bool]
    """Whether the signature covers a timestamp; where it does not, a captured body stays valid for ever."""

    def verify(self, headers: Headers, body: bytes, secrets: Sequence[bytes]) -> bool:
        """True when the signature holds. Costs one HMAC a secret, whatever the headers say; never raises."""
        ...
