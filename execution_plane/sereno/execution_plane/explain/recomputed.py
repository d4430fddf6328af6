"""Pairs that did not match leave no verdict: the pure matcher is run again on what was stored then."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from sereno.envelope.decode import loads_envelope
from sereno.envelope.envelope import Envelope
from sereno.execution_plane.explain.versions import Version
from sereno.execution_plane.pipeline.matcher import Miss, miss
from sereno.subscriptions.filters import Attributes, FilterFault, of
from sereno.subscriptions.lifecycle import State


@dataclass(frozen=True, slots=True)
class Asked:
    """A stored event, read once for all subscriptions that are asked again."""

    envelope: Envelope
    attributes: Attributes

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """The event of its flat JSON."""
        return cls(loads_envelope(stored), of(stored))


def not_matched(version: Version, event: Asked) -> dict[str, Any]:
    """Why the stored event did not concern this version of a subscription, marked as recomputed."""
    part, expected, found = _why(version, event)
    return {
        "subscription": version.object.name,
        "version": version.object.version,
        "recomputed": True,
        "part": part,
        "expected": expected,
        "found": found,
        "sentence": _sentence(part, expected, found),
        "would_have_changed_it": _change(part, expected),
    }


def _why(version: Version, event: Asked) -> tuple[str, str, str]:
    declared = version.object
    if declared.state == State.DELETED:
        return "state", "a subscription that is not deleted", declared.state
    try:
        found: Miss | None = miss(version.compiled, event.envelope, event.attributes)
    except FilterFault as fault:
        return "fault", "data for which every filter can be evaluated", str(fault)
    if found is None:
        return "catalog", f"version {declared.version} in force at the decision", "it came into force later"
    return found.part, found.expected, found.found


def _sentence(part: str, expected: str, found: str) -> str:
    match part:
        case "source":
            return f"it listens to {expected} and this came from {found}"
        case "types":
            return f"it listens to the types {expected} and this is {found}"
        case "filter":
            return f"its filter {expected} said no ({found})"
        case "fault":
            return f"its filter could not be evaluated: {found}"
        case "state":
            return "it was deleted"
        case _:
            return "its version came into force just as the event was decided"


def _change(part: str, expected: str) -> str:
    match part:
        case "source":
            return f"an event from {expected}"
        case "types":
            return f"an event of a type among {expected}"
        case "filter":
            return f"an event for which {expected} holds"
        case _:
            return expected
