"""New ids and secrets: the randomness that the pure parts take as values."""

import hashlib
import os
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sereno.envelope.identifiers import RANDOM_BYTES, uuid7

PATH_TOKEN_BYTES = 32


@dataclass(frozen=True, slots=True)
class PathToken:
    """The unguessable last part of an endpoint's URL."""

    text: str

    @property
    def sha256(self) -> str:
        """Its hash, which is all that leaves the control plane."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def path_token() -> PathToken:
    """A new token of 256 random bits."""
    return PathToken(secrets.token_urlsafe(PATH_TOKEN_BYTES))


def new_id(now: datetime) -> UUID:
    """A new UUIDv7."""
    return uuid7(int(now.timestamp() * 1000), os.urandom(RANDOM_BYTES))


def utc_now() -> datetime:
    """Now, aware and in UTC, in whole microseconds."""
    return datetime.now(UTC)
