"""Why the catalog does not do what was asked: values, each a sentence and a stable code."""

from dataclasses import dataclass
from typing import Literal

Code = Literal[
    "version_conflict",
    "deleted",
    "not_found",
    "in_use",
    "not_allowed",
    "reason_required",
    "forbidden",
    "rejected",
]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A command that the state of the catalog does not allow; nothing was changed."""

    code: Code
    message: str
    current_version: int | None = None
    rule: str | None = None
    policy_version: str | None = None


@dataclass(frozen=True, slots=True)
class Refusals:
    """Everything that stands against a command on many objects; none of them was changed."""

    items: tuple[Refusal, ...]
