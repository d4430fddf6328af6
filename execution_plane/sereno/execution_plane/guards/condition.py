"""The condition step: a candidate that passed the first three guards is judged before it may wake anybody.

The verdict that says yes is itself an event (`sereno.condition.met`), caused by the candidate; only that can wake, and
it passes all seven guards.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from sereno.envelope import dedup_key
from sereno.envelope.envelope import Envelope
from sereno.envelope.types import CONDITION_MET
from sereno.execution_plane.guards.activation import Activation, is_verdict
from sereno.execution_plane.guards.judgement import Judged
from sereno.execution_plane.guards.lineage import Ancestor
from sereno.execution_plane.guards.subscription import Criterion, Subscription


class Evaluation(NamedTuple):
    """One row: a candidate that waits for its verdict, and what the verdict has to be made with."""

    tenant: str
    subscription: str
    version: int
    receiptid: str
    criterion: str
    attributes: Mapping[str, Any]
    ancestors: tuple[Ancestor, ...]
    requested: datetime


def awaits(activation: Activation, policy: Subscription) -> bool:
    """Whether this event is a candidate that has to be judged first."""
    return policy.condition is not None and not is_verdict(activation.envelope)


def criterion_version(criterion: Criterion) -> str:
    """The first sixteen hexadecimal digits of the criterion's SHA-256: an edited one judges anew."""
    return sha256(f"{criterion.text}\0{criterion.min_confidence}".encode()).hexdigest()[:16]


def met(
    candidate: Envelope,
    attributes: Mapping[str, Any],
    policy: Subscription,
    judged: Judged,
    *,
    receiptid: str,
    now: datetime,
    traceparent: str | None = None,
) -> Envelope:
    """The event that says the condition was met: the candidate whole, and the verdict beside it; its id is the candidate's.

    It is ours, but what it tells of keeps the trust of its sender: inside, with the candidate. It goes on in the
    candidate's trace, below the judgement if `traceparent` says where that is.
    """
    if policy.condition is None:
        raise ValueError(f"{policy.name} has no condition")
    key = f"{policy.name}/{criterion_version(policy.condition)}/{candidate.dedupkey}"
    return replace(
        candidate,
        source=f"condition/{policy.name}",
        type=CONDITION_MET,
        datacontenttype="application/json",
        dataschema=None,
        extensions={},
        data={
            "subscription": policy.name,
            "confidence": judged.confidence,
            "evidence": [item.as_json() for item in judged.evidence],
            "calibrated": False,
            "candidate": dict(attributes),
        },
        receiptid=receiptid,
        origin="platform",
        recordedtime=now,
        dedupkey=dedup_key.of_state("condition", key),
        causationid=candidate.receiptid,
        hops=candidate.hops + 1,
        trust="platform",
        dataref=None,
        traceparent=traceparent or candidate.traceparent,
        outside={},
    )


def candidate_of(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The flat candidate inside a verdict's event: what keys are taken from."""
    data = attributes.get("data")
    found = data.get("candidate") if isinstance(data, Mapping) else None
    return found if isinstance(found, Mapping) else attributes


def addressee(attributes: Mapping[str, Any]) -> str | None:
    """The subscription that a verdict's event is for: it matches no other."""
    data = attributes.get("data")
    found = data.get("subscription") if isinstance(data, Mapping) else None
    return found if isinstance(found, str) else None
