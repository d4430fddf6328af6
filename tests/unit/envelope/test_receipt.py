"""At receipt every name of ours that a sender used moves outside, and ours is written."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given

from sereno.envelope.encode import flat
from sereno.envelope.envelope import PLATFORM_ATTRIBUTES, TRACE_ATTRIBUTES, Envelope, Sensitivity
from sereno.envelope.event import Event
from sereno.envelope.receipt import Receipt, receive
from tests.unit.envelope.generated import FREE_NAMES, OUR_NAMES, events, receipts

AT = datetime(2027, 3, 4, 5, 6, 7, 890, tzinfo=UTC)
EVENT = Event(id="1", source="/s", type="t", time=AT - timedelta(hours=1))
RECEIPT = Receipt(
    receiptid="01957a3c-0000-7000-8000-000000000001",
    tenantid="acme",
    origin="webhook/zendesk",
    recordedtime=AT,
    dedupkey="/s#1",
    trust="authenticated",
)
TRACE = f"00-{'1' * 32}-{'2' * 16}-01"


@given(events(OUR_NAMES | FREE_NAMES), receipts())
@pytest.mark.req(37)
def test_a_sender_sets_nothing_of_ours(event: Event, receipt: Receipt) -> None:
    envelope = receive(event, receipt)
    document = flat(envelope)
    for name in ("receiptid", "tenantid", "origin", "dedupkey", "trust", "hops"):
        assert document[name] == getattr(receipt, name)
    for name in ("actor", "actorid", "onbehalfof", "causationid", "dataref"):
        assert document.get(name) == getattr(receipt, name)
    claimed = {name: value for name, value in event.extensions.items() if name in PLATFORM_ATTRIBUTES}
    assert {name: envelope.outside[name] for name in claimed} == claimed
    assert not envelope.extensions.keys() & (PLATFORM_ATTRIBUTES | TRACE_ATTRIBUTES)


@given(events(OUR_NAMES | FREE_NAMES), receipts())
def test_nothing_that_a_sender_wrote_is_lost(event: Event, receipt: Receipt) -> None:
    envelope = receive(event, receipt)
    carried = {"traceparent": envelope.traceparent, "tracestate": envelope.tracestate}
    kept = {**envelope.extensions, **{k: v for k, v in carried.items() if v is not None}, **envelope.outside}
    missing = {name for name in event.extensions if kept.get(name) != event.extensions[name]}
    assert missing == set()


@pytest.mark.req(39)
def test_occurred_and_received_are_two_clocks_in_utc() -> None:
    local = AT.astimezone(timezone(timedelta(hours=2)))
    document = flat(receive(EVENT, RECEIPT._replace(recordedtime=local)))
    assert document["time"] == "2027-03-04T04:06:07.000890Z"
    assert document["recordedtime"] == "2027-03-04T05:06:07.000890Z"


def test_an_event_without_cause_begins_its_own_chain() -> None:
    envelope = receive(EVENT, RECEIPT)
    assert (envelope.correlationid, envelope.causationid, envelope.hops) == (RECEIPT.receiptid, None, 1)


def test_the_senders_trace_is_followed_only_when_valid_and_none_is_ours() -> None:
    sent = replace(EVENT, extensions={"traceparent": TRACE, "tracestate": "a=b"})
    followed = receive(sent, RECEIPT)
    assert (followed.traceparent, followed.tracestate, followed.outside) == (TRACE, "a=b", {})
    ours = receive(sent, RECEIPT._replace(traceparent=TRACE.replace("2", "3")))
    assert ours.traceparent == TRACE.replace("2", "3")
    assert ours.outside == {"traceparent": TRACE, "tracestate": "a=b"}
    malformed = receive(replace(EVENT, extensions={"traceparent": "00-0"}), RECEIPT)
    assert (malformed.traceparent, malformed.outside) == (None, {"traceparent": "00-0"})


@pytest.mark.parametrize(
    ("declared", "claimed", "kept"),
    [
        ("internal", "confidential", "confidential"),
        ("internal", "public", "internal"),
        (None, "internal", "internal"),
        ("confidential", "whatever", "confidential"),
        (None, True, None),
    ],
)
def test_a_sender_may_raise_sensitivity_and_never_lower_it(
    declared: Sensitivity | None, claimed: str | bool, kept: Sensitivity | None
) -> None:
    sent = replace(EVENT, extensions={"sensitivity": claimed})
    envelope = receive(sent, RECEIPT._replace(sensitivity=declared))
    assert envelope.sensitivity == kept
    assert envelope.outside == {"sensitivity": claimed}


def test_receipt_leaves_no_field_of_an_envelope_unset() -> None:
    envelope = receive(EVENT, RECEIPT)
    assert {name for name in Envelope.__dataclass_fields__ if hasattr(envelope, name)} == set(
        Envelope.__dataclass_fields__
    )
    assert replace(envelope) == envelope
