"""What the policies in a manifest say to each subscription, asked once for each version of what they rest on."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.policy.authority import authority
from sereno.subscriptions.policy.facts import SHIPPED, Facts, facts_of
from sereno.subscriptions.rights import RIGHTS, Authority, Rights
from sereno.subscriptions.snapshot import CatalogObject


class Memory:
    """Decisions of one tenant; what differs only in name is asked once."""

    def __init__(self) -> None:
        self._facts: Facts | None = None
        self._ends: datetime | None = None
        self._known: dict[tuple[str, ...], Rights] = {}

    def rights(self, facts: Facts | None, declared: CatalogObject, at: datetime) -> Rights:
        """The rights of a subscription at this instant; all, where the manifest carries no policies."""
        if facts is None:
            return RIGHTS
        if facts != self._facts or (self._ends is not None and at >= self._ends):
            self._facts, self._ends, self._known = facts, None, {}
        source = declared.spec["source"]
        key = (
            str(declared.spec["owner"]),
            declared.created_by,
            str(declared.spec["agent"]),
            repr(source),
            str(declared.spec.get("mode")),
        )
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = rights_of(facts, declared, at)
            if known.revoked_at is not None:
                self._ends = min(known.revoked_at, self._ends or known.revoked_at)
        return known


def facts_in(objects: Iterable[CatalogObject]) -> Facts | None:
    """The facts in a manifest's objects; None when it carries no policies, as those of an older control plane do."""
    found: Sequence[CatalogObject] = list(objects)
    return facts_of(found) if any(item.kind == "Policy" and item.name == SHIPPED for item in found) else None


def rights_of(facts: Facts, declared: CatalogObject, at: datetime) -> Rights:
    """What the policies say to one subscription now."""
    if declared.state == State.DELETED:
        return RIGHTS
    found = authority(facts, str(declared.spec["owner"]), declared.created_by, declared.spec, at)
    return Rights(
        revoked=found.reason == "revoked",
        owner_removed=found.reason == "owner_removed",
        agent_suspended=found.reason == "agent_suspended",
        revoked_at=found.until if found.allowed else None,
        authority=Authority(found.decision.policy_version, found.decision.rule, found.sponsor),
    )
