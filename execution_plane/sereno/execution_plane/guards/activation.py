"""An activation: one event that may wake one agent, and the clocks at that moment."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from sereno.envelope.envelope import Envelope
from sereno.envelope.types import CONDITION_MET

# A signal of ours that is later than this fills in for an instant that was missed.
CATCH_UP = timedelta(seconds=5)

Entry = Literal["arrival", "held"]
"""How it came to the guards: from the ingress, or from what was held (guard 1 has spoken already)."""


class Reading(NamedTuple):
    """Two clocks: `recorded` is when the platform received the event, never earlier than the one before it
    of the same subscription; `database` is the deciding transaction's own.
    """

    recorded: datetime
    database: datetime


class Activation(NamedTuple):
    """One event on its way to one subscription; `attributes` is the envelope as flat CloudEvents JSON.

    `batch_key` and `serial_key` are what the subscription takes from the event, None where it takes nothing.
    """

    envelope: Envelope
    attributes: Mapping[str, Any]
    entry: Entry = "arrival"
    batch_key: str | None = None
    serial_key: str | None = None

    @property
    def is_catch_up(self) -> bool:
        """Whether it is a signal of ours for an instant that was missed: it says nothing of a storm."""
        envelope = self.envelope
        return (
            # What a calendar says is not trusted; that its time came is a signal of ours all the same.
            (
                (envelope.trust == "platform" and envelope.origin.startswith("time/"))
                or envelope.origin.startswith("calendar/")
            )
            and envelope.time is not None
            and envelope.recordedtime - envelope.time > CATCH_UP
        )


def is_verdict(envelope: Envelope) -> bool:
    """Whether the event says that a condition was met, and so may wake without being judged again."""
    return envelope.type == CONDITION_MET and envelope.trust == "platform"
