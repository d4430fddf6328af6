"""A message with its lease, as a claim answered it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class LeasedMessage:
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
    def answers(self) -> list[Mapping[str, Any]]:
        """What people answered while the message was parked."""
        return list(self.document.get("answers", []))

    @property
    def trace(self) -> Mapping[str, Any]:
        """`traceparent` and `tracestate` of the span that led here, where there is one."""
        trace = self.document.get("context", {}).get("trace")
        return trace if isinstance(trace, Mapping) else {}

    @property
    def token(self) -> int:
        """Names the lease; resources that compare tokens take this one."""
        return int(self.document["lease"]["token"])

    @property
    def lease_seconds(self) -> float:
        """From one renewal to the next end of the lease."""
        return float(self.document["lease"]["seconds"])

    @property
    def hard_deadline(self) -> datetime:
        """When this lease ends whatever is renewed, by the database's clock."""
        return datetime.fromisoformat(self.document["lease"]["hard_deadline"])

    @property
    def bearer(self) -> str:
        """A credential for the verbs of this lease and nothing else."""
        return str(self.document["lease"]["bearer"])
