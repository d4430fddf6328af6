"""Outbound calls: every request of ours to an address that somebody configured goes through `Outbound.fetch`."""

from sereno.mailbox.outbound.addresses import Addresses, AddressRefusedError
from sereno.mailbox.outbound.fetch import Answer, Limits, Outbound, OutboundError, UnansweredError

__all__ = [
    "AddressRefusedError",
    "Addresses",
    "Answer",
    "Limits",
    "Outbound",
    "OutboundError",
    "UnansweredError",
]
