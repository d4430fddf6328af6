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
    revoked_at: datetime | None = None
    """When a grant that it may rest on ends; it is asked again then, and until that is answered it does not fire."""
    authority: "Authority | None" = None


@dataclass(frozen=True, slots=True)
class Authority:
    """By which policy a right was given or taken: its version, the rule that decided, and whose grants it rests on."""

    policy: str
    rule: str
    sponsor: str


@dataclass(frozen=True, slots=True)
class Rights:
    """What policy says to a subscription, asked once for each version of the catalog."""

    revoked: bool = False
    owner_removed: bool = False
    agent_suspended: bool = False
    revoked_at: datetime | None = None
    authority: Authority | None = None

    @property
    def stands(self) -> bool:
        """Whether nothing was taken away."""
        return not (self.revoked or self.owner_removed or self.agent_suspended)


RIGHTS = Rights()
"""Nothing was taken away."""


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
    # Asked for every event: no list of all the answers is made.
    state = standing.state
    ended = standing.revoked_at is not None and now >= standing.revoked_at
    if standing.revoked or ended or state is State.DELETED:
        return "revoked"
    if standing.owner_removed:
        return "owner_removed"
    if standing.agent_suspended:
        return "agent_suspended"
    if state is not State.ACTIVE:
        return (
            "expired" if state is State.EXPIRED else "exhausted" if state is State.EXHAUSTED else "not_active"
        )
    if standing.expires is not None and now >= standing.expires:
        return "expired"
    if standing.valid_until is not None and now >= standing.valid_until:
        return "policy_expired"
    return "sender_unverified" if standing.verified_sender_only and not sender_verified else None
