"""The worker's side: a process that claims over HTTP, keeps its leases, and hands each message to a handler."""

from sereno.mailbox.lease_lost import LeaseLostError
from sereno.mailbox.worker.delivery import Accepted, Delivery, Park, Reject, Release, Result
from sereno.mailbox.worker.lane import Handler
from sereno.mailbox.worker.worker import Worker

__all__ = [
    "Accepted",
    "Delivery",
    "Handler",
    "LeaseLostError",
    "Park",
    "Reject",
    "Release",
    "Result",
    "Worker",
]
