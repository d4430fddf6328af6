"""The mailbox: where every wake-up ends, and from where workers take it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sereno.mailbox.worker import Worker

__all__ = ["Worker"]


def __getattr__(name: str) -> Any:
    # Only who asks for the worker pays for importing an HTTP client.
    if name != "Worker":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sereno.mailbox.worker import Worker  # noqa: PLC0415 - see above

    return Worker
