"""Whether a subscription may fire now: its life, what was taken from it, and the policy it works from.

What comes with one event (its sender) and what is counted (budget) is decided by the guards; here is what the
catalog and the clock say. The reasons and what becomes of an arriving event are the contract's (§2, §3 guard 3).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sereno.subscriptions.lifecycle import State

Reason = Literal[
    "revoked",
    "owner_removed",
    "agent_suspended",
    "not_active",
    "expired",
    "exhausted",
    "policy_expired",
    "sender_unverified",
]
Outcome = Literal["dropped", "held"]


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a subscription at the moment of a decision; times are UTC, `valid_until` is the manifest's."""

    state: State
    expires: datetime | None = None
    valid_until: datetime | None = None
    revoked: bool = False
    owner_removed: bool = False
    agent_suspended: bool = False
    verified_sender_only: bool = False


@dataclass(frozen=True, slots=True)
class Objection:
    """Why it may not fire, and what becomes of the event."""

    reason: Reason
    outcome: Outcome


def objection(standing: Standing, now: datetime, *, sender_verified: bool = False) -> Objection | None:
    """The first thing that stands against firing at `now` (the database's clock), or None when it may."""
    reason = _reason(standing, now, sender_verified=sender_verified)
    if reason is None:
        return None
    return Objection(reason, "held" if reason == "policy_expired" else "dropped")


def _reason(standing: Standing, now: datetime, *, sender_verified: bool) -> Reason | None:
    reasons: tuple[tuple[bool, Reason], ...] = (
        (standing.revoked or standing.state is State.DELETED, "revoked"),
        (standing.owner_removed, "owner_removed"),
        (standing.agent_suspended, "agent_suspended"),
        (standing.state is State.EXPIRED, "expired"),
        (standing.state is State.EXHAUSTED, "exhausted"),
        (standing.state is not State.ACTIVE, "not_active"),
        (_passed(standing.expires, now), "expired"),
        (_passed(standing.valid_until, now), "policy_expired"),
        (standing.verified_sender_only and not sender_verified, "sender_unverified"),
    )
    return next((reason for stands, reason in reasons if stands), None)


def _passed(end: datetime | None, now: datetime) -> bool:
    return end is not None and now >= end
