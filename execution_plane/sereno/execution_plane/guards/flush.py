"""Flush: whether a batch that is due becomes a message now; it meets guards 3 and 6 and the stop again."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sereno.execution_plane.guards import batching
from sereno.execution_plane.guards.activation import Reading
from sereno.execution_plane.guards.batch import OpenBatch
from sereno.execution_plane.guards.budget import Reservation, exceeded, numbers_of
from sereno.execution_plane.guards.changes import Change, Close, Deposit, Remember, Reserve, Suspend
from sereno.execution_plane.guards.delivery import message_id_of_batch
from sereno.execution_plane.guards.state import GuardState
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.guards.suspension import Suspension, suspension_id
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.rights import objection

_TAKEN_AWAY = frozenset({"revoked", "owner_removed", "agent_suspended"})
# What began before the end is delivered once.
_OVER = frozenset({"expired", "exhausted"})
_MOST_SUBJECTS = 10


class Delivered(NamedTuple):
    """It becomes this message."""

    message: UUID
    changes: tuple[Change, ...]


class Dropped(NamedTuple):
    """It never becomes one; every event in it ends with this reason."""

    reason: str
    changes: tuple[Change, ...]


class Frozen(NamedTuple):
    """It waits until a person, the end of a stop or a manifest moves it; a budget at its limit suspends on the way."""

    reason: str
    changes: tuple[Change, ...] = ()


class Later(NamedTuple):
    """It is asked again at `at`, or when a message of the subscription closes, whichever comes first."""

    at: datetime | None


Flush = Delivered | Dropped | Frozen | Later


def decide(batch: OpenBatch, state: GuardState, policy: Subscription, now: Reading) -> Flush:
    """What becomes of an open batch at this moment (database clock)."""
    found = objection(state.standing, now.database, sender_verified=True)
    reason = None if found is None else found.reason
    if reason in _TAKEN_AWAY:
        told = "deleted" if state.standing.state is State.DELETED else str(reason)
        return Dropped(told, (Close(batch, None, told),))
    if state.stop is not None:
        return Frozen("stopped")
    if reason is not None and reason not in _OVER:
        return Frozen(reason)
    if state.suspension is not None:
        return Frozen(state.suspension.cause)
    due = batching.due(batch, policy, state.memory)
    if now.database < due:
        return Later(due)
    over = None if policy.budgets is None else exceeded(policy.budgets, state.used, now.database)
    if over is not None:
        return Frozen("budget", (Suspend(_suspension(batch, policy, now, numbers_of(over))),))
    return _when_busy(batch, state, policy, now) or _deliver(batch, state, policy, now)


def _when_busy(batch: OpenBatch, state: GuardState, policy: Subscription, now: Reading) -> Flush | None:
    if not state.busy or policy.when_busy == "queue":
        return None
    if policy.when_busy == "drop":
        return Dropped("busy", (Close(batch, None, "busy"),))
    longest = None if policy.batch is None else policy.batch.max_wait
    if longest is None:
        return Later(None)
    latest = batch.opened + longest
    return None if now.database >= latest else Later(latest)


def _deliver(batch: OpenBatch, state: GuardState, policy: Subscription, now: Reading) -> Delivered:
    message = message_id_of_batch(batch.id, now.database)
    recorded = max(state.memory.last_recorded or now.database, now.database)
    memory = state.memory._replace(
        last_recorded=recorded, last_delivered=recorded, deliveries=state.memory.deliveries + 1
    )
    changes: list[Change] = [Remember((policy.tenant, policy.name), memory)]
    if policy.budgets is not None:
        reservation = Reservation(policy.tenant, message, policy.budgets.lines(now.database))
        changes.append(Reserve(reservation))
    changes.append(Close(batch, message, "delivered", recorded))
    changes.append(Deposit((policy.tenant, policy.name, batch.serial_key or ""), message))
    return Delivered(message, tuple(changes))


def _suspension(
    batch: OpenBatch, policy: Subscription, now: Reading, numbers: Mapping[str, Any]
) -> Suspension:
    identity = suspension_id(now.database, policy.tenant, policy.name, "budget", str(batch.id))
    return Suspension(identity, policy.tenant, policy.name, "budget", now.database, str(batch.id), numbers)


def digest(envelopes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a batch holds, bounded: how many events, from when to when, of which types, about which subjects."""
    times = [str(e["time"]) for e in envelopes if e.get("time")]
    subjects = list(dict.fromkeys(str(e["subject"]) for e in envelopes if e.get("subject")))
    return {
        "events": len(envelopes),
        "first": min(times, default=None),
        "last": max(times, default=None),
        "types": _tally(str(e.get("type")) for e in envelopes),
        "subjects": subjects[:_MOST_SUBJECTS],
        "more_subjects": max(0, len(subjects) - _MOST_SUBJECTS),
    }


def _tally(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    most = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    kept = dict(most[:_MOST_SUBJECTS])
    rest = sum(count for _, count in most[_MOST_SUBJECTS:])
    return kept | ({"others": rest} if rest else {})
