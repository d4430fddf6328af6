"""An event carries no authority: whatever stands in it, a subscription permits no more than it says itself."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sereno.envelope.encode import flat
from sereno.envelope.envelope import Envelope
from sereno.execution_plane.guards import Ledger, Moment
from sereno.execution_plane.guards.keyed import activation_of
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.pipeline.wake_up import Told, message_of
from sereno.mailbox.scope import Scope
from tests.passages import NOON, received, subscription

TEXT = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)
MUTATIONS = st.fixed_dictionaries(
    {},
    optional={
        "id": TEXT,
        "source": TEXT,
        "type": st.sampled_from(["x", "sereno.condition.met", "sereno.time.due"]),
        "subject": st.none() | TEXT,
        "time": st.none() | st.just(NOON) | st.just(NOON - timedelta(days=9)),
        "data": st.none()
        | st.dictionaries(TEXT, TEXT, max_size=3)
        | st.just({"subscription": "refund-watch"}),
        "origin": TEXT | st.sampled_from(["platform", "time/refund-watch", "agent/support-triage"]),
        "dedupkey": TEXT,
        "correlationid": TEXT,
        "causationid": st.none() | TEXT,
        "hops": st.integers(1, 20),
        "trust": st.sampled_from(["platform", "authenticated", "untrusted"]),
        "actor": st.none() | TEXT,
        "actorid": st.none() | st.sampled_from(["user:marta", "agent:support-triage"]),
        "onbehalfof": st.none() | TEXT,
        "extensions": st.dictionaries(st.sampled_from(["agent", "instruction", "mode", "srncause"]), TEXT),
        "outside": st.dictionaries(st.sampled_from(["hops", "trust", "entry"]), TEXT),
    },
)


def mutated(changes: dict[str, Any]) -> Envelope:
    return replace(received(), **changes)


CLOSED: dict[str, tuple[Subscription, dict[str, Any]]] = {
    "paused": (subscription(state="paused"), {}),
    "deleted": (subscription(state="deleted"), {}),
    "expired": (subscription(limits={"expires": "2026-03-02T11:00:00Z"}), {}),
    "exhausted": (subscription(limits={"max_occurrences": 1}), {"delivered": True}),
    "over budget": (subscription(limits={"budget": {"activations": "1/day"}}), {"delivered": True}),
    "stopped": (subscription(), {"stop": True}),
    "resting": (subscription(limits={"cooldown": {"every": "1h"}}), {"delivered": True}),
    "collecting": (subscription(limits={"batch": {"window": "1h"}}), {}),
    "judged first": (subscription(condition={"criterion": "Is it urgent?"}), {"unjudged": True}),
}


@pytest.mark.req(15, 95)
@pytest.mark.parametrize("why", CLOSED)
@settings(deadline=None, max_examples=30)
@given(changes=MUTATIONS)
def test_no_field_of_an_envelope_opens_what_is_closed(why: str, changes: dict[str, Any]) -> None:
    watch, known = CLOSED[why]
    ledger = Ledger()
    if known.get("delivered"):
        first = received(7, event_id="first")
        assert ledger.decide(activation_of(first, flat(first), watch), watch, Moment(NOON)).decided.message
    if known.get("stop"):
        ledger.stops = (Scope("acme"),)
    if known.get("unjudged") and changes.get("trust") == "platform":
        # Only what the platform itself wrote may say that a condition was met.
        changes = {**changes, "trust": "authenticated"}
    envelope = mutated(changes)
    said = ledger.decide(activation_of(envelope, flat(envelope), watch), watch, Moment(NOON))
    assert said.decided.outcome != "delivered"


@pytest.mark.req(12, 15, 95)
@settings(deadline=None, max_examples=50)
@given(changes=MUTATIONS)
def test_who_is_woken_and_with_what_is_the_subscriptions_alone(changes: dict[str, Any]) -> None:
    """K1: what a sender writes never stands in the instruction."""
    watch = subscription()
    envelope = mutated(changes)
    attributes = flat(envelope)
    said = Ledger().decide(activation_of(envelope, attributes, watch), watch, Moment(NOON))
    if said.decided.outcome != "delivered":
        return
    message = message_of(said, attributes, Told())
    assert (message.agent, message.instruction) == (watch.agent, watch.instruction)
    assert (message.subscription.name, message.subscription.version) == (watch.name, watch.version)
    assert (message.priority, message.max_attempts) == (watch.priority, watch.max_attempts)
    assert message.context["attributed_to"] == watch.owner
    assert message.envelopes == [attributes]
