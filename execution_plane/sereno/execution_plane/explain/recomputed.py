"""Pairs that did not match leave no verdict: the pure matcher is run again on what was stored then."""

from collections.abc import Mapping
from typing import Any

from sereno.envelope.decode import loads_envelope
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.pipeline.directory import compile_object
from sereno.execution_plane.pipeline.matcher import Miss, miss
from sereno.subscriptions.filters import FilterFault
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.snapshot import CatalogObject


def not_matched(declared: CatalogObject, envelope: Mapping[str, Any]) -> dict[str, Any]:
    """Why the stored envelope did not concern this version of a subscription, marked as recomputed."""
    part, expected, found = _why(declared, envelope)
    return {
        "subscription": declared.name,
        "version": declared.version,
        "recomputed": True,
        "part": part,
        "expected": expected,
        "found": found,
        "sentence": _sentence(part, expected, found),
        "would_have_changed_it": _change(part, expected),
    }


def _why(declared: CatalogObject, envelope: Mapping[str, Any]) -> tuple[str, str, str]:
    if declared.state == State.DELETED:
        return "state", "a subscription that is not deleted", declared.state
    subscription: Subscription = compile_object(declared)
    try:
        found: Miss | None = miss(subscription, loads_envelope(envelope), envelope)
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
