"""What a newer manifest changes for the work that already lies in mailboxes (contract, 2, the table of states)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sereno.execution_plane.catalog.rights import Memory, facts_in
from sereno.subscriptions.snapshot import CatalogObject


class Effect(StrEnum):
    """What becomes of a subscription's messages."""

    PAUSED = "paused"
    RESUMED = "resumed"
    REVOKED = "revoked"
    RESTORED = "restored"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Change:
    """One effect on the messages of one subscription."""

    tenant: str
    subscription: str
    effect: Effect

    @property
    def settles(self) -> bool:
        """Whether it must also reach what a pipeline deposits that has not seen the manifest yet."""
        return self.effect in {Effect.PAUSED, Effect.REVOKED, Effect.WITHDRAWN}


@dataclass(frozen=True, slots=True)
class Judged:
    """At which instants the rights of both sets of objects are asked: when each was issued."""

    before: datetime | None
    after: datetime | None


NEVER = Judged(None, None)
_ABSENT = "absent"
_BEGINS = {"paused": Effect.PAUSED, "deleted": Effect.WITHDRAWN, _ABSENT: Effect.REVOKED}
_ENDS = {"paused": Effect.RESUMED, _ABSENT: Effect.RESTORED}


def changes(
    tenant: str, before: Iterable[CatalogObject], after: Iterable[CatalogObject], *, judged: Judged = NEVER
) -> tuple[Change, ...]:
    """The effects of going from one set of objects to the next, by subscription name; an absent one is revoked.

    So is one whose rights are gone when it is judged, where the objects carry policies.
    """
    old, new = _states(before, judged.before), _states(after, judged.after)
    found = (
        Change(tenant, name, effect)
        for name in sorted(old.keys() | new.keys())
        for effect in _effects(old.get(name, _ABSENT), new.get(name, _ABSENT))
    )
    return tuple(found)


def _states(objects: Iterable[CatalogObject], at: datetime | None) -> Mapping[str, str]:
    listed, memory = list(objects), Memory()
    facts = facts_in(listed)
    return {
        item.name: item.state if at is None or memory.rights(facts, item, at).stands else _ABSENT
        for item in listed
        if item.kind == "Subscription"
    }


def _effects(old: str, new: str) -> Iterable[Effect]:
    # What was deleted long ago is not named any more, and has no messages left.
    if old == new or (old, new) == ("deleted", _ABSENT):
        return ()
    beginning = _BEGINS.get(new)
    # What ends for good needs no resumption before.
    ending = None if beginning is Effect.WITHDRAWN else _ENDS.get(old)
    return [effect for effect in (ending, beginning) if effect is not None]
