"""Guard 5: novelties that wait for each other become one message, none is lost, and the batch says which it holds."""

from datetime import datetime, timedelta
from typing import Literal, NamedTuple

import orjson

from sereno.execution_plane.guards.activation import Activation, Reading
from sereno.execution_plane.guards.batch import BatchItem, BatchLimits, OpenBatch, batch_id
from sereno.execution_plane.guards.lineage import MAX_ANCESTORS, union
from sereno.execution_plane.guards.state import GuardState, Memory
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.guards.verdict import NOT_CONFIGURED, Number, Verdict, objected, passed

Why = Literal["quiet_hours", "cooldown", "busy", "window"]
UNLIMITED = BatchLimits()


class Joined(NamedTuple):
    """What a merged event changes: the batch that it joined, its item there, and a batch that is full because of it."""

    batch: OpenBatch
    item: BatchItem
    sealed: OpenBatch | None = None


_latest: list[tuple[GuardState, Activation, Joined]] = []


def decide(state: GuardState, activation: Activation, policy: Subscription, now: Reading) -> Verdict:
    """Object with `merged`, and into which batch; `because` says what the batch waits for first."""
    why = _why(state, policy)
    if why is None:
        return NOT_CONFIGURED["batching"] if policy.batch is None else passed("batching", {})
    batch = join(state, activation, policy, now).batch
    numbers: dict[str, Number] = {
        "batch": batch.id,
        "because": why,
        "items": batch.items,
        "bytes": batch.size,
        "due": due(batch, policy, state.memory),
    }
    if batch.key:
        numbers["key"] = batch.key
    return objected("batching", "merged", "merged", numbers)


def _why(state: GuardState, policy: Subscription) -> Why | None:
    if state.stop is not None or state.suspension is not None:
        return None
    pause = state.pause
    if pause is not None:
        return "quiet_hours" if pause.reason == "quiet_hours" else "cooldown"
    if policy.when_busy == "merge" and state.busy:
        return "busy"
    return None if policy.batch is None else "window"


def join(state: GuardState, activation: Activation, policy: Subscription, now: Reading) -> Joined:
    """The batch with this event in it; one that has no room for it is sealed and the next one begins.

    It is asked twice for each event, by the verdict and by what that writes.
    """
    for known, of, joined in _latest:
        if known is state and of is activation:
            return joined
    joined = _join(state, activation, policy, now)
    _latest[:] = [(state, activation, joined)]
    return joined


def _join(state: GuardState, activation: Activation, policy: Subscription, now: Reading) -> Joined:
    limits = policy.batch or UNLIMITED
    size = len(orjson.dumps(activation.attributes))
    before = state.batch
    if before is not None and not _has_room(before, size, state, limits):
        return _begin(state, activation, policy, now, size)._replace(sealed=before._replace(sealed=True))
    if before is None:
        return _begin(state, activation, policy, now, size)
    after = before._replace(
        items=before.items + 1,
        size=before.size + size,
        ancestors=union((before.ancestors, state.ancestors)) if state.ancestors else before.ancestors,
    )
    return _with_item(after, activation, state, limits)


def _begin(
    state: GuardState, activation: Activation, policy: Subscription, now: Reading, size: int
) -> Joined:
    envelope = activation.envelope
    batch = OpenBatch(
        id=batch_id(envelope.tenantid, envelope.receiptid, policy.name, envelope.recordedtime),
        tenant=envelope.tenantid,
        subscription=policy.name,
        key=activation.batch_key or "",
        opened=now.database,
        items=1,
        size=size,
        ancestors=state.ancestors,
        serial_key=activation.serial_key,
    )
    return _with_item(batch, activation, state, policy.batch or UNLIMITED)


def _with_item(batch: OpenBatch, activation: Activation, state: GuardState, limits: BatchLimits) -> Joined:
    full = batch.items >= limits.max_items or batch.size >= limits.max_bytes
    item = BatchItem(
        batch.id, batch.items, activation.envelope.receiptid, activation.attributes, state.ancestors
    )
    return Joined(batch._replace(sealed=True) if full else batch, item)


def _has_room(batch: OpenBatch, size: int, state: GuardState, limits: BatchLimits) -> bool:
    if batch.items >= limits.max_items or batch.size + size > limits.max_bytes:
        return False
    return not state.ancestors or len(union((batch.ancestors, state.ancestors))) <= MAX_ANCESTORS


def due(batch: OpenBatch, policy: Subscription, memory: Memory) -> datetime:
    """When the batch becomes a message: at the end of window and cooldown, at the latest at max_wait, and when that
    falls into quiet hours at their end. A sealed one does not wait for the window.
    """
    limits = policy.batch or UNLIMITED
    at = batch.opened + (timedelta() if batch.sealed else limits.window)
    if policy.cooldown is not None and memory.last_delivered is not None:
        at = max(at, memory.last_delivered + policy.cooldown.every)
    if limits.max_wait is not None:
        at = min(at, batch.opened + limits.max_wait)
    ends = None if policy.quiet is None else policy.quiet.ends(at)
    return at if ends is None else ends
