"""The worker's side: a process that claims over HTTP, keeps its leases, and hands each message to a handler."""

from sereno.mailbox.worker.api import WorkerError, WorkerRefusedError, WorkerUnansweredError
from sereno.mailbox.worker.delivery import Delivery, Reject, Release
from sereno.mailbox.worker.worker import Handler, Worker

__all__ = [
    "Delivery",
    "Handler",
    "Reject",
    "Release",
    "Worker",
    "WorkerError",
    "WorkerRefusedError",
    "WorkerUnansweredError",
]
