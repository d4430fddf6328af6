"""Rejection: why bytes are not an acceptable CloudEvent."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rejected:
    """The refusal of an event: a stable code, one sentence, and the attribute or member it is about."""

    code: str
    message: str
    field: str | None = None
