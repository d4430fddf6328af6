"""Guard 3: the subscription may fire now, and its sender is good enough."""

from dataclasses import replace

from sereno.envelope.encode import rfc3339
from sereno.execution_plane.guards.passage import Number, Passage
from sereno.subscriptions.rights import objection


def rights(passage: Passage) -> Passage:
    """Object with the first thing that the catalog and the database clock say against it (contract, part 3)."""
    envelope, valid_until = passage.envelope, passage.state.policy_valid_until
    standing = replace(passage.subscription.standing, valid_until=valid_until)
    numbers: dict[str, Number] = {
        "state": str(standing.state),
        "version": passage.subscription.version,
        "expires": None if standing.expires is None else rfc3339(standing.expires),
        "policy_valid_until": None if valid_until is None else rfc3339(valid_until),
        "trust": envelope.trust,
    }
    found = objection(standing, passage.clock.database, sender_verified=envelope.trust != "untrusted")
    if found is not None:
        return passage.objects("rights", found.outcome, found.reason, numbers)
    return passage.passes("rights", numbers)
