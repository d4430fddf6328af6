"""A test judges the same input as the live path: whatever form an event is given in, the hash is the same."""

import json
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given

from sereno.envelope.encode import dumps, flat
from sereno.envelope.envelope import Envelope
from sereno.execution_plane.evaluator import observed
from sereno.execution_plane.evaluator.item import Item, input_hash, item_of, names_of
from sereno.mailbox.engine.asking import Refused
from tests.passages import received, subscription
from tests.unit.envelope.generated import envelopes

AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
VERSION = "0" * 16


def shuffled(value: Any) -> Any:
    """As a column of the database keeps it: the members of an object in another order."""
    if isinstance(value, dict):
        return {name: shuffled(value[name]) for name in sorted(value, reverse=True)}
    return [shuffled(one) for one in value] if isinstance(value, list) else value


def live(envelope: Envelope) -> str:
    stored = shuffled(orjson.loads(dumps(envelope)))
    return input_hash(VERSION, item_of(str(stored["id"]), stored))


@pytest.mark.hypothesis
@given(envelopes())
def test_a_given_event_hashes_as_the_received_one(envelope: Envelope) -> None:
    written = {name: value for name, value in flat(envelope).items() if name != "dataref"}
    if "data" not in written and "dataref" in flat(envelope):
        return
    policy = subscription(source={"webhook": {"endpoint": "zendesk"}})
    [seen] = observed.given(policy, [orjson.loads(orjson.dumps(written, default=str))], AT)
    assert input_hash(VERSION, item_of("x", seen.event)) == live(envelope)


def test_a_time_in_another_form_is_the_same_input() -> None:
    policy = subscription()
    event = {"specversion": "1.0", "id": "e-1", "source": "/zendesk", "type": "t", "data": {"b": 1, "a": 2}}
    hashes = {
        input_hash(VERSION, item_of("x", observed.given(policy, [{**event, "time": time}], AT)[0].event))
        for time in ("2026-03-02T12:00:00Z", "2026-03-02T12:00:00.000+00:00", "2026-03-02t12:00:00z")
    }
    assert len(hashes) == 1


def test_hashes_tell_inputs_apart() -> None:
    item = Item.of("a", {"n": 1})
    others = [
        input_hash("1" * 16, item),
        input_hash(VERSION, Item.of("a", {"n": 2})),
        input_hash(VERSION, Item.of("a", {"n": 1}, "confidential")),
    ]
    assert input_hash(VERSION, item) == input_hash(VERSION, Item.of("another name", {"n": 1}))
    assert len({input_hash(VERSION, item), *others}) == 4


def test_a_given_event_that_does_not_concern_the_subscription_says_why() -> None:
    policy = subscription(filters=[{"exact": {"subject": "refund"}}])
    written = json.loads(dumps(received(1, subject="thanks")))
    [seen] = observed.given(policy, [written], AT)
    assert seen.misses is not None
    assert seen.misses.startswith("filter: expected")
    assert observed.given(policy, [{**written, "subject": "refund"}], AT)[0].misses is None


@pytest.mark.parametrize(
    ("event", "named"),
    [
        ({"id": "1", "source": "/s", "type": "t"}, "specversion"),
        ({"specversion": "1.0", "source": "/s", "type": "t"}, "id"),
        (
            {
                "specversion": "1.0",
                "id": "1",
                "source": "/s",
                "type": "t",
                "dataref": "/v1/data/internal/" + "0" * 64,
            },
            "dataref",
        ),
        ({"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "hops": "many"}, "hops"),
    ],
)
def test_a_wrong_event_names_its_field(event: dict[str, Any], named: str) -> None:
    with pytest.raises(Refused, match=named) as refusal:
        observed.given(subscription(), [event], AT)
    assert (refusal.value.status, refusal.value.code) == (422, "bad_input")


def test_events_with_one_id_are_told_apart_by_their_receipts() -> None:
    assert names_of([("a", "r1"), ("b", "r2"), ("a", "r3")]) == ["r1", "b", "r3"]
