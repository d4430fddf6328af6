"""The condition part of an explanation: the filters, and what was judged with which evidence."""

from collections.abc import Mapping
from typing import Any

from sereno.envelope.types import CONDITION_MET


def evidence_of(envelope: Mapping[str, Any]) -> list[Any]:
    """The quotes that a verdict rests on; an event of another type carries none."""
    return list(_verdict(envelope).get("evidence", []))


def condition_of(spec: Mapping[str, Any], envelope: Mapping[str, Any]) -> dict[str, Any]:
    """What had to hold: filters, then the criterion with the verdict that entered as this event, if it is one."""
    told: dict[str, Any] = {"filters": spec.get("filters", [])}
    condition = spec.get("condition")
    if condition is None:
        return told
    verdict = _verdict(envelope)
    judged = {name: verdict.get(name) for name in ("confidence", "calibrated")} | {"judged": "not verified"}
    return {**told, **condition, "verdict": judged if verdict else None}


def _verdict(envelope: Mapping[str, Any]) -> Mapping[str, Any]:
    if envelope.get("type") != CONDITION_MET or envelope.get("trust") != "platform":
        return {}
    data = envelope.get("data")
    return data if isinstance(data, Mapping) else {}
