"""Guard 3: the subscription may fire now, and its sender is good enough."""

from sereno.execution_plane.guards.passage import Number, Passage
from sereno.execution_plane.outside import ENDPOINT_PAUSED
from sereno.subscriptions.rights import objection


def rights(passage: Passage) -> Passage:
    """Object with the first thing that the catalog and the database clock say against it (contract, part 3)."""
    standing, trust = passage.given.standing, passage.envelope.trust
    numbers: dict[str, Number] = {
        "state": str(standing.state),
        "version": passage.subscription.version,
        "expires": standing.expires,
        "policy_valid_until": standing.valid_until,
        "trust": trust,
    }
    if ENDPOINT_PAUSED in passage.envelope.outside:
        return passage.objects("rights", "dropped", "not_active", numbers | {"endpoint": "paused"})
    found = objection(standing, passage.given.clock.database, sender_verified=trust != "untrusted")
    if found is not None:
        return passage.objects("rights", found.outcome, found.reason, numbers)
    return passage.passes("rights", numbers)
