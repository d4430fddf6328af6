"""The shared CloudEvents cases: each is driven through the decoder, or named as a rule for another part."""

import json
import os
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from nats.aio.client import Client

from sereno.envelope import check, dedup_key
from sereno.envelope.decode import Decoded, Rejected, decode_http, decode_nats
from sereno.envelope.encode import flat
from sereno.envelope.trace_context import is_traceparent
from sereno.execution_plane.api import webhook_route
from sereno.execution_plane.catalog.catalog import Catalog
from sereno.execution_plane.gateway.admission import Admission
from sereno.execution_plane.gateway.group_commit import GroupCommit, IngressPublisher
from sereno.execution_plane.gateway.secrets import Secrets
from sereno.execution_plane.gateway.webhook import WebhookGateway
from sereno.execution_plane.preview.lines import answer_line

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "cloudevents.json").read_text(encoding="utf-8")
)

# What these ask for is no matter of an event. The handshake is driven below. An origin header is asked of senders
# whom nothing else authenticates: our endpoints check signatures. We follow no redirect, since we send no web
# hooks, and limit no rate.
HANDSHAKES = {"wh-options-ok", "wh-options-rate0"}
RULES_OF_THE_ENDPOINT = {*HANDSHAKES, "wh-post-no-origin", "wh-redirect", "wh-429"}
CODES = {
    "bin-percent-overlong": "invalid_header",
    "bin-json-invalid": "invalid_json",
    "bin-ce-datacontenttype": "invalid_attribute_name",
    "str-missing-source": "missing_attribute",
    "str-missing-type": "missing_attribute",
    "str-missing-specversion": "missing_attribute",
    "bin-bad-time": "invalid_time",
    "bin-time-no-offset": "invalid_time",
    "bin-empty-subject": "invalid_attribute_value",
    "str-base64-invalid": "invalid_data",
    "str-object-ext": "invalid_attribute_type",
    "str-dup-keys": "invalid_json",
    "batch-one-invalid": "missing_attribute",
    "batch-object": "invalid_batch",
    "wh-415": "unsupported_media_type",
}


def decoded(case: dict[str, Any]) -> Decoded | Rejected:
    decode = decode_nats if case["transport"] == "nats" else decode_http
    headers = [(name, value) for name, value in case["request"]["headers"]]
    return decode(headers, case["request"]["body"].encode("utf-8"))


def event_cases(*outcomes: str) -> list[Any]:
    chosen = (case for case in CASES if case["id"] not in RULES_OF_THE_ENDPOINT)
    return [pytest.param(case, id=case["id"]) for case in chosen if case["expected"]["outcome"] in outcomes]


@pytest.mark.parametrize("case", event_cases("accept", "status-rule"))
def test_accepted_exactly_as_sent(case: dict[str, Any]) -> None:
    answer = decoded(case)
    assert isinstance(answer, Decoded), answer
    expected = case["expected"]
    assert answer.mode == expected.get("mode", "binary")
    sent = [flat(event) for event in answer.events]
    if "events" in expected:
        assert sent == expected["events"]
        return
    (document,) = sent
    data, octets = document.pop("data", None), document.pop("data_base64", None)
    if "attributes" in expected:
        assert document == expected["attributes"]
    if "data" in expected:
        assert data == expected["data"]
        assert type(data) is type(expected["data"])
    if "data_base64" in expected:
        assert (data, octets) == (None, expected["data_base64"])
        assert isinstance(answer.events[0].data, bytes)
        assert b64encode(answer.events[0].data).decode() == expected["data_base64"]
    if expected.get("data_absent"):
        assert (data, octets, answer.events[0].data) == (None, None, None)


@pytest.mark.parametrize("case", event_cases("reject"))
def test_rejected_with_a_stable_code_and_a_sentence(case: dict[str, Any]) -> None:
    answer = decoded(case)
    assert isinstance(answer, Rejected), answer
    assert answer.code == CODES[case["id"]]
    assert answer.message


@pytest.mark.parametrize("case", event_cases("accept", "status-rule", "reject"))
@pytest.mark.parametrize("as_object", [False, True])
def test_envelope_check_says_the_same(case: dict[str, Any], as_object: bool) -> None:
    headers = [(name, value) for name, value in case["request"]["headers"]]
    question = {
        "transport": case["transport"],
        "headers": dict(headers) if as_object else headers,
        "body_base64": b64encode(case["request"]["body"].encode()).decode(),
    }
    said = orjson.loads(orjson.dumps(answer_line(orjson.dumps(question), check.answer)))
    expected = case["expected"]
    if expected["outcome"] == "reject":
        assert (said["accepted"], said["error"]["code"]) == (False, CODES[case["id"]])
        return
    assert (said["accepted"], said["mode"]) == (True, expected.get("mode", "binary"))
    if "events" in expected:
        assert said["events"] == expected["events"]
    if "attributes" in expected:
        (event,) = said["events"]
        carried = {name: expected[name] for name in ("data", "data_base64") if name in expected}
        assert {name: event.get(name) for name in carried} == carried
        assert {name: value for name, value in event.items() if not name.startswith("data_")} == (
            expected["attributes"] | ({"data": event["data"]} if "data" in event else {})
        )
        assert not expected.get("data_absent") or event.keys().isdisjoint({"data", "data_base64"})


def test_every_case_is_an_event_of_ours_or_a_named_rule_of_the_endpoint() -> None:
    driven = {param.id for param in event_cases("accept", "status-rule", "reject")}
    assert len(CASES) == 48
    assert driven | RULES_OF_THE_ENDPOINT == {case["id"] for case in CASES}
    assert {param.id for param in event_cases("reject")} == CODES.keys()


def test_the_rejections_name_the_field() -> None:
    fields = {
        case["id"]: decoded(case) for case in CASES if case["id"].startswith(("str-missing", "bin-empty"))
    }
    named = {name: answer.field for name, answer in fields.items() if isinstance(answer, Rejected)}
    assert named == {
        "str-missing-source": "source",
        "str-missing-type": "type",
        "str-missing-specversion": "specversion",
        "bin-empty-subject": "subject",
    }


def test_the_event_of_a_web_hook_without_origin_header_still_decodes() -> None:
    (case,) = (case for case in CASES if case["id"] == "wh-post-no-origin")
    assert isinstance(decoded(case), Decoded)


def test_a_malformed_trace_parent_is_kept_and_never_followed() -> None:
    (case,) = (case for case in CASES if case["id"] == "ext-traceparent-bad")
    answer = decoded(case)
    assert isinstance(answer, Decoded)
    assert not is_traceparent(str(answer.events[0].extensions["traceparent"]))


def test_the_same_source_and_id_give_the_same_dedup_key_whatever_the_rest() -> None:
    keys = set()
    for name in ("bin-plain", "dup-same-source-id"):
        answer = decoded(next(case for case in CASES if case["id"] == name))
        assert isinstance(answer, Decoded)
        keys.add(dedup_key.of_event(answer.events[0].source, answer.events[0].id))
    assert len(keys) == 1


@pytest.mark.parametrize("name", sorted(HANDSHAKES))
async def test_the_handshake_allows_a_sender_or_does_not(name: str) -> None:
    (case,) = (case for case in CASES if case["id"] == name)
    catalog = Catalog()
    commit = GroupCommit(IngressPublisher(Client()))
    admission = Admission(Secrets(), os.urandom)
    gateway = WebhookGateway(catalog, admission, commit, lambda: datetime.now(UTC), record=lambda _: None)
    app = FastAPI()
    app.include_router(webhook_route.router(gateway))
    async with AsyncClient(transport=ASGITransport(app), base_url="http://endpoint") as sender:
        answer = await sender.options("/in/some-token", headers=dict(case["request"]["headers"]))
    allowed = answer.headers.get("WebHook-Allowed-Origin")
    if case["expected"]["outcome"] == "deny":
        assert allowed is None
        return
    expected = case["expected"]["response_headers"]
    assert allowed in expected["WebHook-Allowed-Origin"]
    assert answer.headers["WebHook-Allowed-Rate"] == "*"
    assert expected["Allow"] in answer.headers["Allow"].split(", ")
