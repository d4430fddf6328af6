"""Every reason that a guard can give has its words, made of the numbers that it stores."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson
import pytest

from sereno.execution_plane.explain.wording import of_reason
from sereno.execution_plane.guards import Ledger, Moment, Passage
from sereno.execution_plane.guards.lineage import Ancestor
from sereno.execution_plane.guards.subscription import Subscription
from sereno.mailbox.scope import Scope
from tests.passages import NOON, activation, received, subscription

NIGHT = {"zone": "UTC", "from": "11:00", "to": "13:00"}


def said_of(
    watch: Subscription, count: int = 1, *, stop: bool = False, busy: bool = False, **envelope: Any
) -> Passage:
    """The last of so many events within a moment."""
    ledger = Ledger(stops=(Scope("acme"),) if stop else ())
    ancestors = envelope.pop("ancestors", ())
    same = envelope.pop("same", False)
    if busy:
        ledger.open_work["acme", "refund-watch", ""] = 1
    passages = []
    for number in range(1, count + 1):
        event = received(number, event_id="same" if same else None, **envelope)
        moment = Moment(NOON)
        passages.append(ledger.decide(activation(event, watch), watch, moment, ancestors=ancestors))
    return passages[-1]


def taken(name: str) -> Subscription:
    plain = subscription()
    changes: dict[str, Any] = {name: True}
    return replace(plain, standing=replace(plain.standing, **changes))


CASES: dict[str, Passage] = {
    "delivered": said_of(subscription()),
    "duplicate": said_of(subscription(), 2, same=True),
    "self_origin": said_of(subscription(identities=(("webhook/zendesk", "bot"),)), actor="bot"),
    "cycle": said_of(subscription(), ancestors=(Ancestor("M1", "support-triage"),)),
    "too_deep": said_of(subscription(), hops=9),
    "revoked": said_of(taken("revoked")),
    "owner_removed": said_of(taken("owner_removed")),
    "agent_suspended": said_of(taken("agent_suspended")),
    "not_active": said_of(subscription(state="paused")),
    "expired": said_of(subscription(limits={"expires": "2026-03-02T11:00:00Z"})),
    "exhausted": said_of(subscription(limits={"max_occurrences": 1}), 2),
    "sender_unverified": said_of(subscription(sender="verified"), trust="untrusted"),
    "budget": said_of(subscription(limits={"budget": {"activations": "1/day"}}), 2),
    "budget, held": said_of(subscription(limits={"budget": {"activations": "1/day"}}), 3),
    "cooldown": said_of(subscription(limits={"cooldown": {"every": "1h"}}), 2),
    "quiet_hours": said_of(subscription(limits={"quiet_hours": {**NIGHT, "then": "drop"}})),
    "merged": said_of(subscription(limits={"batch": {"window": "1m"}})),
    "busy": said_of(subscription(limits={"when_busy": "drop"}), busy=True),
    "stopped": said_of(subscription(), stop=True),
    "storm": said_of(subscription(limits={"storm": {"threshold": "1/min"}}), 2),
    "storm, held": said_of(subscription(limits={"storm": {"threshold": "1/min"}}), 3),
    "awaiting_verdict": said_of(subscription(condition={"criterion": "Is it urgent?"})),
}


@pytest.mark.req(157)
@pytest.mark.parametrize("name", CASES)
def test_a_reason_has_words_for_why_what_else_and_what_now(name: str) -> None:
    decided = CASES[name].decided
    assert decided.reason == name.partition(",")[0]
    numbers = orjson.loads(orjson.dumps(decided.numbers, option=orjson.OPT_UTC_Z))
    words = of_reason(decided.reason, numbers, "refund-watch")
    assert all((words.why, words.would_have_changed, words.can_do_now))
    assert "None" not in words.why


def test_a_window_of_batches_is_a_length_of_time() -> None:
    assert CASES["merged"].decided.numbers["due"] == NOON + timedelta(minutes=1)
