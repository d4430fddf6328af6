import hashlib
from typing import Any

import orjson
import pytest

from sereno.envelope.event import NULL
from sereno.envelope.rejection import Rejected
from sereno.execution_plane import outside
from sereno.execution_plane.gateway.endpoint import Endpoint, of_spec
from sereno.execution_plane.gateway.occurrence import Found, Occurrence, Unsupported, read
from sereno.execution_plane.gateway.signatures.scheme import Request, Verified
from sereno.subscriptions.models.endpoint import EndpointSpec

JSON = [("content-type", "application/json")]
ISSUE = {"action": "opened", "issue": {"number": 1}, "sender": {"login": "marta"}}


def endpoint(scheme: str, **more: Any) -> Endpoint:
    spec = {
        "scheme": scheme,
        "secrets": ["env:HOOK"],
        **({"header": "X-S"} if scheme == "hmac" else {}),
        **more,
    }
    return of_spec("acme", "hub", EndpointSpec.model_validate(spec))


def read_by(scheme: str, headers: list[tuple[str, str]], body: bytes) -> Found:
    return read(endpoint(scheme), Request(headers, body), Verified(), fresh_id=lambda: "fresh")


def one(scheme: str, headers: list[tuple[str, str]], body: bytes) -> Occurrence:
    found = read_by(scheme, headers, body)
    assert isinstance(found, tuple)
    assert len(found) == 1
    return found[0]


def sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


class TestGitHub:
    body = orjson.dumps(ISSUE)

    def test_key_is_the_body_and_id_is_the_delivery(self) -> None:
        found = one("github", [*JSON, ("x-github-event", "issues"), ("x-github-delivery", "d-1")], self.body)
        assert found.event.id == "d-1"
        assert found.dedupkey == f"body:{sha256(self.body)}"
        assert found.actor == "marta"
        assert found.notes == {outside.BODY_SHA256: sha256(self.body), outside.DELIVERY_ID: "d-1"}

    def test_another_delivery_id_or_type_changes_no_key(self) -> None:
        first = one("github", [*JSON, ("x-github-event", "issues"), ("x-github-delivery", "d-1")], self.body)
        again = one("github", [*JSON, ("x-github-event", "push"), ("x-github-delivery", "d-2")], self.body)
        assert first.dedupkey == again.dedupkey
        assert again.event.type == "sereno.webhook.received"
        assert again.notes[outside.CLAIMED] == {"x-github-event": "push"}

    @pytest.mark.parametrize("delivery", [None, "", "x" * 201, "a\x07b", "é"])
    def test_without_a_usable_delivery_id_the_body_names_the_event(self, delivery: str | None) -> None:
        headers = JSON if delivery is None else [*JSON, ("x-github-delivery", delivery)]
        assert one("github", headers, self.body).event.id == sha256(self.body)

    def test_a_body_that_is_no_object_is_refused(self) -> None:
        found = read_by("github", JSON, b"[1]")
        assert found == Rejected("invalid_data", "the body of a GitHub webhook is a JSON object", "data")


class TestPlainJson:
    def test_has_the_general_type_a_fresh_id_and_counts_by_its_body_for_a_while(self) -> None:
        found = one("hmac", JSON, b'{"id": 5}')
        assert (found.event.type, found.event.source) == ("sereno.webhook.received", "webhook/hub")
        assert (found.event.id, found.event.data) == ("fresh", {"id": 5})
        assert found.dedupkey == "body:" + sha256(b'{"id": 5}')
        # The same reading may come again on purpose, so the hash is not kept for a week.
        assert found.notes == {}

    def test_a_null_is_data(self) -> None:
        assert one("hmac", JSON, b"null").event.data is NULL

    @pytest.mark.parametrize("body", [b"", b"{", b'{"a":1,"a":2}', b"\xff", b"NaN"])
    def test_malformed_json_is_refused_with_what_is_wrong(self, body: bytes) -> None:
        found = read_by("hmac", JSON, body)
        assert isinstance(found, Rejected)
        assert "data" in found.message

    @pytest.mark.parametrize(
        "kind", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16", None]
    )
    def test_other_formats_are_not_supported(self, kind: str | None) -> None:
        headers = [] if kind is None else [("content-type", kind)]
        assert isinstance(read_by("hmac", headers, b"{}"), Unsupported)


EVENT = {"specversion": "1.0", "id": "e-1", "source": "/shop", "type": "com.acme.order", "data": {"n": 1}}


STRUCTURED = [("content-type", "application/cloudevents+json")]


class TestCloudEvents:
    def test_structured_is_believed_since_it_is_signed(self) -> None:
        body = orjson.dumps(EVENT)
        found = one("hmac", STRUCTURED, body)
        assert (found.event.type, found.event.source, found.event.id) == ("com.acme.order", "/shop", "e-1")
        assert found.dedupkey == "/shop#e-1"
        assert found.notes == {outside.BODY_SHA256: sha256(body)}

    def test_each_event_of_a_batch_has_a_body_hash_of_its_own(self) -> None:
        body = orjson.dumps([EVENT, EVENT | {"id": "e-2"}])
        headers = [("content-type", "application/cloudevents-batch+json")]
        found = read_by("hmac", headers, body)
        assert isinstance(found, tuple)
        assert [occurrence.dedupkey for occurrence in found] == ["/shop#e-1", "/shop#e-2"]
        assert len({str(occurrence.notes[outside.BODY_SHA256]) for occurrence in found}) == 2

    def test_attributes_in_headers_are_outside_the_signature(self) -> None:
        headers = [
            *JSON,
            ("ce-specversion", "1.0"),
            ("ce-id", "e-1"),
            ("ce-source", "/shop"),
            ("ce-type", "com.acme.order"),
        ]
        found = one("hmac", headers, b'{"n": 1}')
        assert (found.event.type, found.event.source) == ("sereno.webhook.received", "webhook/hub")
        assert found.dedupkey == "body:" + sha256(b'{"n": 1}')
        assert found.notes[outside.CLAIMED] == {"id": "e-1", "type": "com.acme.order", "source": "/shop"}

    def test_nobody_outside_speaks_as_the_platform(self) -> None:
        found = one("hmac", STRUCTURED, orjson.dumps(EVENT | {"type": "sereno.condition.met"}))
        assert found.event.type == "sereno.webhook.received"
        assert found.notes[outside.CLAIMED] == {"type": "sereno.condition.met"}

    def test_an_invalid_event_names_the_attribute(self) -> None:
        found = read_by("hmac", STRUCTURED, b'{"specversion":"1.0"}')
        assert isinstance(found, Rejected)
        assert found.field in {"id", "source", "type"}
