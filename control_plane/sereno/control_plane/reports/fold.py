"""The sum of many activity reports, so that one statement can add it to what is known."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sereno.subscriptions.report import ActivityReport


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """One counter of a subscription."""

    tenant: str
    subscription: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Tally:
    """How often an outcome came, and when last."""

    count: int
    last_at: datetime


def fold(reports: Iterable[ActivityReport]) -> dict[Key, Tally]:
    """The reports added up, in key order: writers that lock rows in one order do not deadlock."""
    sums: dict[Key, Tally] = {}
    for report in reports:
        for item in report.items:
            key = Key(report.tenant, item.subscription, item.outcome)
            known = sums.get(key, Tally(0, item.last_at))
            sums[key] = Tally(known.count + item.count, max(known.last_at, item.last_at))
    return dict(sorted(sums.items()))
