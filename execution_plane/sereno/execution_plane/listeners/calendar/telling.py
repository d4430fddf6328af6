"""What the owner of a subscription is told of its calendar (pure)."""

from collections.abc import Iterator, Sequence

from sereno.execution_plane.listeners.calendar.followed import Followed
from sereno.execution_plane.listeners.calendar.plan import REMOVED, Removal
from sereno.mailbox.notices import Notice

AWAY_AFTER = 3
"""After so many looks in a row that failed, the owner is told."""
_SINGLY = 20
_LONGEST_NAME = 80


def of_removed(followed: Followed, removals: Sequence[Removal]) -> Iterator[Notice]:
    """One notice for each wake-up that was cancelled; a single one where they are many."""
    lost = [each.occurrence for each in removals if each.reason == REMOVED]
    if len(lost) > _SINGLY:
        text = f"{followed.subscription} will not wake {len(lost)} times: these entries were cancelled or removed"
        yield _notice(followed, "anchor_removed", text, count=len(lost))
        return
    for one in lost:
        name = str(one.facts.get("summary") or one.uid)[:_LONGEST_NAME]
        text = (
            f"{followed.subscription} will not wake at {one.fire:%Y-%m-%dT%H:%M:%SZ}: "
            f"{name!r} of {one.anchor:%Y-%m-%dT%H:%M:%SZ} was cancelled or removed"
        )
        cause = f"anchor_removed/{followed.subscription}/{one.entry.hex()}@{one.anchor:%Y%m%dT%H%M%SZ}"
        data = {"subscription": followed.subscription, "uid": one.uid[:1000]}
        yield Notice(followed.tenant, cause, text, data)


def of_unreadable(followed: Followed, refused: Sequence[str]) -> Iterator[Notice]:
    """One notice about the entries that cannot be read exactly, which wake nobody."""
    if refused:
        more = f", and {len(refused) - 1} more" if len(refused) > 1 else ""
        text = f"{followed.subscription} cannot follow {refused[0][:500]}{more}"
        yield _notice(followed, "calendar_entry", text)


def of_away(followed: Followed, failures: int, fault: str) -> Iterator[Notice]:
    """One notice about a calendar that could not be read several times in a row."""
    if failures >= AWAY_AFTER:
        text = (
            f"the calendar of {followed.subscription} could not be read {failures} times in a row: {fault[:500]}; "
            "what was read last stays in force"
        )
        yield _notice(followed, "calendar_away", text)


def _notice(followed: Followed, kind: str, text: str, count: int = 1) -> Notice:
    data = {"subscription": followed.subscription}
    return Notice(followed.tenant, f"{kind}/{followed.subscription}", text, data, count)
