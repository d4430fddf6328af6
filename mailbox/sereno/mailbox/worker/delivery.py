"""A message in the hands of a handler, and the ways in which a handler can end other than by returning."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Delivery:
    """One claimed message as the API answered it (`document`), with its lease."""

    document: Mapping[str, Any]

    @property
    def id(self) -> str:
        return str(self.document["id"])

    @property
    def agent(self) -> str:
        return str(self.document["agent"])

    @property
    def instruction(self) -> str:
        return str(self.document["instruction"])

    @property
    def envelopes(self) -> list[Mapping[str, Any]]:
        """Flat CloudEvents; `trust` says how far to believe them."""
        return list(self.document["envelopes"])

    @property
    def attempts(self) -> int:
        return int(self.document["attempts"])

    @property
    def token(self) -> int:
        """Names the lease; resources that compare tokens take this one."""
        return int(self.document["lease"]["token"])

    @property
    def lease_seconds(self) -> float:
        """From one renewal to the next end of the lease."""
        return float(self.document["lease"]["seconds"])

    @property
    def bearer(self) -> str:
        """A credential for the verbs of this lease and nothing else."""
        return str(self.document["lease"]["bearer"])


class Release(Exception):  # noqa: N818 - a verb of the mailbox, raised to leave the handler
    """Give the message back for another attempt, after `retry_after` seconds or the server's back-off."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after


class Reject(Release):
    """Nobody can ever process this message: it is dead at once."""

    def __init__(self) -> None:
        super().__init__("rejected")
