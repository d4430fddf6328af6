import hashlib
import hmac
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from sereno.execution_plane.gateway.admission import STRANGER, Admission, Admitted, Arrival, Refused
from sereno.execution_plane.gateway.endpoint import Endpoint, of_spec
from sereno.execution_plane.gateway.ping import Answered
from sereno.execution_plane.gateway.secrets import Secrets
from sereno.subscriptions.models.endpoint import EndpointSpec

RECORDED = datetime(2026, 11, 30, 10, 0, 0, 123456, tzinfo=UTC)
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
BODY = b'{"n": 1}'


def endpoint(**changed: Any) -> Endpoint:
    spec: dict[str, Any] = {
        "scheme": "hmac",
        "secrets": ["env:HOOK"],
        "header": "X-Signature",
        "max_body": 100,
    }
    return of_spec("acme", "hub", EndpointSpec.model_validate(spec | changed))


def admission(environment: dict[str, str] | None = None) -> Admission:
    return Admission(Secrets({"HOOK": "key"} if environment is None else environment), bytes)


def arrival(
    body: bytes = BODY, *, key: bytes = b"key", kind: str = "application/json", **more: str
) -> Arrival:
    signature = hmac.digest(key, body, hashlib.sha256).hex()
    headers = [("content-type", kind), ("x-signature", signature), ("traceparent", PARENT), *more.items()]
    return Arrival(headers, body, RECORDED)


def admitted(decision: Admitted | Answered | Refused) -> Admitted:
    assert isinstance(decision, Admitted), decision
    return decision


@pytest.mark.req(36, 37, 39)
def test_an_authentic_request_becomes_an_envelope_of_the_endpoints_tenant() -> None:
    (envelope,) = admitted(admission().admit(endpoint(), arrival())).envelopes
    assert (envelope.tenantid, envelope.origin) == ("acme", "webhook/hub")
    assert envelope.recordedtime == RECORDED
    assert envelope.time is None
    assert UUID(envelope.receiptid).version == 7
    assert envelope.traceparent == PARENT
    assert (envelope.actorid, envelope.trust) == (None, "untrusted")
    assert (envelope.correlationid, envelope.causationid) == (envelope.receiptid, None)


def test_what_a_sender_writes_under_our_names_goes_outside() -> None:
    body = b'{"specversion":"1.0","id":"1","source":"/s","type":"t","tenantid":"other","trust":"platform","hops":7}'
    sent = arrival(body, kind="application/cloudevents+json")
    (envelope,) = admitted(admission().admit(endpoint(max_body=1000), sent)).envelopes
    assert (envelope.tenantid, envelope.trust) == ("acme", "untrusted")
    assert envelope.hops != 7
    assert {"tenantid", "trust", "hops"} < envelope.outside.keys()


@pytest.mark.parametrize(
    ("known", "sent"),
    [
        (False, arrival()),
        (True, arrival(key=b"another")),
        (True, Arrival([("content-type", "application/json")], BODY, RECORDED)),
        (True, arrival(b"x" * 101, key=b"another")),
        (True, arrival(kind="text/plain", key=b"another")),
        (True, arrival(b"{", key=b"another")),
    ],
    ids=["unknown", "wrong-key", "unsigned", "too-large", "other-format", "malformed"],
)
def test_strangers_all_get_the_same_answer(known: bool, sent: Arrival) -> None:
    assert admission().admit(endpoint() if known else None, sent) == STRANGER
    assert STRANGER.status == 401


@pytest.mark.parametrize("environment", [{}, {"HOOK": ""}, {"HOOK": "  "}])
def test_an_endpoint_without_a_secret_refuses_everybody_also_who_signs_with_the_empty_key(
    environment: dict[str, str],
) -> None:
    assert admission(environment).admit(endpoint(), arrival(key=b"")) == STRANGER


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (arrival(b"[" + b"1," * 60 + b"1]"), 413, "too_large"),
        (arrival(kind="text/plain"), 415, "unsupported_media_type"),
        (arrival(kind="application/cloudevents+xml"), 415, "unsupported_media_type"),
        (arrival(b'{"n": }'), 400, "invalid_json"),
    ],
)
def test_who_is_known_is_told_what_is_wrong(sent: Arrival, status: int, code: str) -> None:
    refused = admission().admit(endpoint(), sent)
    assert isinstance(refused, Refused)
    assert (refused.status, refused.code) == (status, code)
    assert refused.field is not None or "data" in refused.detail or "understood" in refused.detail


def test_the_second_of_two_secrets_serves_while_one_is_being_replaced() -> None:
    both = endpoint(secrets=["env:HOOK", "env:NEXT"])
    admitted(admission({"HOOK": "old", "NEXT": "key"}).admit(both, arrival()))
    # One of the two may be gone.
    admitted(admission({"NEXT": "key"}).admit(both, arrival()))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (rb'{"note": "a\u0000b"}', "data.note"),
        (rb'{"a": [{"b": 1}, {"c": "\u0000"}]}', "data.a[1].c"),
        (rb'{"a": {"ke\u0000y": 1}}', "data.a.ke"),
        (rb'["\u0000"]', "data[0]"),
    ],
)
def test_text_that_cannot_be_stored_is_refused_by_the_member_that_holds_it(body: bytes, field: str) -> None:
    refused = admission().admit(endpoint(), arrival(body))
    assert isinstance(refused, Refused)
    assert (refused.status, refused.code, refused.field) == (400, "bad_input", field)
    assert refused.detail.startswith(f"{field}: expected text without the NUL character")


def test_a_text_that_quotes_the_escape_of_nul_is_stored() -> None:
    (envelope,) = admitted(admission().admit(endpoint(), arrival(rb'{"n": "\\u0000"}'))).envelopes
    assert envelope.data == {"n": "\\u0000"}


def test_an_id_too_long_to_be_looked_up_is_refused() -> None:
    def sent(length: int) -> Arrival:
        body = b'{"specversion":"1.0","source":"/s","type":"t","id":"%b"}' % (b"x" * length)
        return arrival(body, kind="application/cloudevents+json")

    admitted(admission().admit(endpoint(max_body=5_000), sent(2_048)))
    refused = admission().admit(endpoint(max_body=5_000), sent(2_049))
    assert refused == Refused(400, "bad_input", "id: expected at most 2,048 bytes", "id")


@pytest.mark.parametrize(
    "body",
    [
        b'{"n": 1e400}',
        b'{"n": -1e400}',
        b'{"n": NaN}',
        b'{"n": Infinity}',
        b'{"n": 36893488147419103232}',
        rb'{"n": "\ud800"}',
        b"[" * 10_000 + b"]" * 10_000,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    ],
    ids=["1e400", "-1e400", "NaN", "Infinity", "2**65", "lone surrogate", "deep list", "deep object"],
)
def test_what_two_readers_would_read_differently_is_refused_after_authentication(body: bytes) -> None:
    refused = admission().admit(endpoint(max_body=100_000), arrival(body))
    assert isinstance(refused, Refused)
    assert (refused.status, refused.code) == (400, "invalid_json")
    assert admission().admit(endpoint(max_body=100_000), arrival(body, key=b"another")) == STRANGER


def test_a_very_long_member_name_is_stored() -> None:
    body = b'{"%b": 1}' % (b"k" * 60_000)
    (envelope,) = admitted(admission().admit(endpoint(max_body=100_000), arrival(body))).envelopes
    assert envelope.data == {"k" * 60_000: 1}
