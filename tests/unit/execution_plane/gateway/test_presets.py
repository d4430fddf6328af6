"""What the bodies of well-known senders mean, under which key they are known, and what is kept of them."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest

from sereno.execution_plane import outside
from sereno.execution_plane.gateway.endpoint import of_spec
from sereno.execution_plane.gateway.occurrence import Occurrence, read
from sereno.execution_plane.gateway.signatures.scheme import Request, Verified
from sereno.subscriptions.models.endpoint import EndpointSpec

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SECONDS = int(NOON.timestamp())
FORM = "application/x-www-form-urlencoded"


def one(
    scheme: str,
    body: Any,
    *,
    kind: str = "application/json",
    headers: tuple[tuple[str, str], ...] = (),
    verified: Verified | None = None,
    **spec: Any,
) -> Occurrence:
    declared = {"scheme": scheme, "secrets": ["env:HOOK"], **spec}
    if scheme == "hmac":
        declared["header"] = "X-Signature"
    endpoint = of_spec("acme", "hub", EndpointSpec.model_validate(declared))
    encoded = body if isinstance(body, bytes) else orjson.dumps(body)
    request = Request([("content-type", kind), *headers], encoded)
    found = read(endpoint, request, verified or Verified(), fresh_id=lambda: "fresh")
    assert isinstance(found, tuple), found
    (occurrence,) = found
    return occurrence


DATED = Verified(timestamp=SECONDS)
EXAMPLES: dict[str, tuple[Occurrence, dict[str, Any], str | None, str]] = {
    "stripe": (
        one(
            "stripe",
            {
                "id": "evt_1",
                "object": "event",
                "type": "invoice.paid",
                "created": SECONDS,
                "data": {
                    "object": {"id": "in_1", "object": "invoice", "customer_email": "a@b", "status": "paid"}
                },
                "request": {"idempotency_key": "k"},
            },
            verified=DATED,
        ),
        {"type": "com.stripe.invoice.paid", "id": "evt_1", "subject": "in_1", "time": NOON},
        None,
        "stripe#evt_1",
    ),
    "slack-event": (
        one(
            "slack",
            {
                "token": "verification token",
                "type": "event_callback",
                "event_id": "Ev1",
                "event_time": SECONDS,
                "event": {"type": "app_mention", "user": "U1", "channel": "C1", "text": "hello"},
            },
            verified=DATED,
        ),
        {"type": "com.slack.app_mention", "id": "Ev1", "subject": "C1", "time": NOON},
        "U1",
        "slack#Ev1",
    ),
    "slack-command": (
        one(
            "slack",
            urlencode(
                {"command": "/ask", "user_id": "U1", "channel_id": "C1", "trigger_id": "13.2", "token": "x"}
            ).encode(),
            kind=FORM,
            verified=DATED,
        ),
        {"type": "com.slack.command", "id": "13.2", "subject": "C1"},
        "U1",
        "slack#13.2",
    ),
    "slack-interaction": (
        one(
            "slack",
            urlencode(
                {
                    "payload": orjson.dumps(
                        {
                            "type": "block_actions",
                            "trigger_id": "13.3",
                            "user": {"id": "U1", "name": "marta"},
                            "channel": {"id": "C1"},
                            "response_url": "https://hooks.slack.example/secret",
                        }
                    )
                }
            ).encode(),
            kind=FORM,
            verified=DATED,
        ),
        {"type": "com.slack.block_actions", "id": "13.3", "subject": "C1"},
        "U1",
        "slack#13.3",
    ),
    "gitlab": (
        one(
            "gitlab",
            {
                "object_kind": "merge_request",
                "user": {"username": "marta", "email": "m@example.com"},
                "project": {"web_url": "https://gitlab.example/shop", "description": "long"},
                "object_attributes": {"iid": 7, "action": "open", "updated_at": "2026-11-30 12:00:00 UTC"},
            },
            verified=Verified(delivery_id="uuid-1", timestamp=SECONDS),
        ),
        {
            "type": "com.gitlab.merge_request.open",
            "source": "https://gitlab.example/shop",
            "subject": "7",
            "time": NOON,
            "id": "uuid-1",
        },
        "marta",
        "delivery:uuid-1",
    ),
    "twilio": (
        one(
            "twilio",
            urlencode({"MessageSid": "SM1", "MessageStatus": "delivered", "From": "+1"}).encode(),
            kind=FORM,
        ),
        {"type": "com.twilio.message.delivered", "subject": "SM1"},
        "+1",
        "twilio#SM1/delivered",
    ),
    "discord": (
        one(
            "discord",
            {
                "version": 1,
                "type": 1,
                "event": {
                    "type": "APPLICATION_AUTHORIZED",
                    "timestamp": "2026-11-30T12:00:00.000000",
                    "data": {"user": {"id": "U1", "email": "a@b"}, "guild": {"id": "G1"}},
                },
            },
            verified=DATED,
        ),
        {"type": "com.discord.APPLICATION_AUTHORIZED", "subject": "G1"},
        "U1",
        "body:",
    ),
    "standard": (
        one(
            "standard",
            {"type": "user.created", "timestamp": "2026-11-30T12:00:00Z", "data": {"id": "u"}},
            verified=Verified(delivery_id="msg_1", timestamp=SECONDS),
        ),
        {"type": "user.created", "id": "msg_1", "time": NOON},
        None,
        "delivery:msg_1",
    ),
    "shopify": (
        one(
            "shopify",
            {
                "id": 820,
                "email": "a@b",
                "line_items": [{"id": 1, "sku": "S", "properties": []}],
                "financial_status": "paid",
                "updated_at": "2026-11-30T13:00:00+01:00",
            },
            headers=(("x-shopify-topic", "orders/paid"), ("x-shopify-webhook-id", "w-1")),
        ),
        {"type": "com.shopify.orders", "subject": "820", "time": NOON, "id": "w-1"},
        None,
        "body:",
    ),
}


@pytest.mark.req(38, 39, 40, 42, 108)
@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_a_preset_reads_its_bodies(name: str) -> None:
    found, expected, actor, key = EXAMPLES[name]
    assert {field: getattr(found.event, field) for field in expected} == expected
    assert found.actor == actor
    assert found.dedupkey.startswith(key)
    assert outside.MAPPING_FAULTS not in found.notes


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_what_is_kept_has_no_token_no_address_and_no_capability(name: str) -> None:
    kept = orjson.dumps(EXAMPLES[name][0].event.data).decode()
    assert len(kept) > 2
    for secret in ("verification token", "a@b", "m@example.com", "response_url", "idempotency", "properties"):
        assert secret not in kept


@pytest.mark.parametrize(
    ("topic", "body", "expected"),
    [
        ("orders/cancelled", {"line_items": [], "financial_status": "paid"}, "com.shopify.orders"),
        ("refunds/create", {"line_items": [], "financial_status": "paid"}, "sereno.webhook.received"),
        ("nonsense", {"line_items": [], "financial_status": "paid"}, "sereno.webhook.received"),
    ],
)
def test_an_unsigned_topic_is_believed_as_far_as_the_body_agrees(
    topic: str, body: dict[str, Any], expected: str
) -> None:
    found = one("shopify", body, headers=(("x-shopify-topic", topic),))
    assert found.event.type == expected
    assert (outside.CLAIMED in found.notes) == (expected == "sereno.webhook.received")
    assert outside.BODY_SHA256 in found.notes


@pytest.mark.req(108)
@pytest.mark.parametrize(
    ("body", "key"),
    [
        ({"event_id": "e"}, "hmac#e"),
        ({"eventId": "e"}, "hmac#e"),
        ({"object": "event", "id": "e"}, "hmac#e"),
        ({"object": "v2.core.event", "id": "e"}, "hmac#e"),
        ({"id": "evt_1"}, "hmac#evt_1"),
        ({"id": "order-1"}, "body:"),
        ({"id": 5}, "body:"),
        ({"object": "event", "id": ""}, "body:"),
        ([1], "body:"),
        ("text", "body:"),
    ],
)
def test_only_an_id_that_is_an_events_is_a_key(body: Any, key: str) -> None:
    found = one("hmac", body)
    assert found.dedupkey.startswith(key)
    # With an id the captured body is kept for a week; without any it may come again on purpose.
    assert (outside.BODY_SHA256 in found.notes) == (not key.startswith("body:"))


@pytest.mark.req(108)
def test_the_event_id_beats_the_signed_delivery_id() -> None:
    signed = Verified(delivery_id="msg_1", timestamp=SECONDS)
    assert one("standard", {"event_id": "e"}, verified=signed).dedupkey == "standard#e"
    assert one("standard", {"n": 1}, verified=signed).dedupkey == "delivery:msg_1"


class TestMapping:
    def test_what_an_expression_does_not_find_is_left_to_the_preset(self) -> None:
        body = {"type": "user.created", "kind": "x"}
        found = one("standard", body, mapping={"type": "body.absent", "subject": "body.kind"})
        # The mapping names the type itself, so the preset's expression is not asked.
        assert (found.event.type, found.event.subject) == ("sereno.webhook.received", "x")

    def test_a_fault_is_noted_and_loses_no_event(self) -> None:
        found = one("hmac", {"n": 1}, mapping={"subject": "body.n + 'text'", "data": "body.n.m.o"})
        assert found.event.subject is None
        assert found.event.data == {}
        assert found.notes[outside.MAPPING_FAULTS]

    def test_nobody_speaks_as_the_platform(self) -> None:
        found = one("hmac", {"t": "sereno.time.due"}, mapping={"type": "body.t"})
        assert found.event.type == "sereno.webhook.received"
        assert found.notes[outside.CLAIMED] == {"type": "sereno.time.due"}

    def test_what_is_no_attribute_is_left_out(self) -> None:
        found = one(
            "hmac", {"s": "not a uri", "n": "a\nb"}, mapping={"source": "body.s", "subject": "body.n"}
        )
        assert (found.event.source, found.event.subject) == ("webhook/hub", None)

    def test_unsigned_headers_are_not_seen(self) -> None:
        mapping = {"subject": 'headers["x-a"]'}
        sent = (("x-a", "forged"),)
        assert one("hmac", {}, headers=sent, mapping=mapping).event.subject is None
        covered = Verified(covered=frozenset({"x-a"}))
        assert one("hmac", {}, headers=sent, mapping=mapping, verified=covered).event.subject == "forged"

    @pytest.mark.parametrize(
        ("written", "moment"),
        [
            (SECONDS, NOON),
            (SECONDS * 1000, NOON),
            (str(SECONDS), NOON),
            ("2026-11-30T13:00:00+01:00", NOON),
            ("2026-11-30T12:00:00", None),
            ("noon", None),
            (True, None),
            (10**18, None),
        ],
    )
    def test_a_time_in_whatever_spelling_names_its_zone(self, written: Any, moment: datetime | None) -> None:
        assert one("hmac", {"at": written}, mapping={"time": "body.at"}).event.time == moment

    def test_of_github_the_rest_stays_as_its_preset_says(self) -> None:
        body = {"action": "opened", "issue": {"number": 7}, "sender": {"login": "marta", "node_id": "x"}}
        sent = (("x-github-event", "issues"),)
        found = one("github", body, headers=sent, mapping={"subject": "body.action"})
        assert (found.event.type, found.event.subject) == ("com.github.issues.opened", "opened")
        assert found.event.data == {**body, "sender": {"login": "marta"}}
        assert found.actor == "marta"
        assert outside.CLAIMED not in found.notes

    def test_dedup_key_and_object(self) -> None:
        mapping = {"dedup_key": "body.a + body.b", "object": "body.a", "id": "body.b"}
        found = one("hmac", {"a": "x", "b": "y"}, mapping=mapping)
        assert (found.dedupkey, found.event.id, found.event.extensions) == ("hmac#xy", "y", {"object": "x"})
