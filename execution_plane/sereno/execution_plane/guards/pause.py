"""A pause: what keeps a subscription from waking at this moment, so that guards 4 and 5 need not ask twice."""

from datetime import datetime
from typing import NamedTuple

from sereno.execution_plane.guards.subscription import Subscription
from sereno.subscriptions.models.limits import Then


class Pause(NamedTuple):
    """Why nothing may wake before `ends`, and what becomes of what comes until then."""

    reason: str
    then: Then
    ends: datetime


def pause_of(
    last_delivered: datetime | None, policy: Subscription, *, recorded: datetime, database: datetime
) -> Pause | None:
    """What keeps this subscription from waking now; quiet hours outrank the cooldown."""
    if policy.quiet is not None:
        ends = policy.quiet.ends(database)
        if ends is not None:
            return Pause("quiet_hours", policy.quiet.then, ends)
    if policy.cooldown is not None and last_delivered is not None:
        ends = last_delivered + policy.cooldown.every
        if recorded < ends:
            return Pause("cooldown", policy.cooldown.then, ends)
    return None
