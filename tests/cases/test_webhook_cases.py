"""The shared webhook cases through the questions of `sereno webhook verify`."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from sereno.execution_plane.preview.lines import answer_line
from sereno.execution_plane.preview.webhook_verify import answer

HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = json.loads((HERE / "webhook_signatures.json").read_text(encoding="utf-8"))
BY_ID = {case["id"]: case for case in CASES}


def question(case: dict[str, Any], **changed: Any) -> dict[str, Any]:
    request = case["request"]
    asked = {
        "scheme": case["scheme"],
        "secret": case["secret"],
        "method": request.get("method"),
        "url": request.get("url"),
        "headers": request["headers"],
        "body_base64": base64.b64encode(request["body"].encode()).decode(),
        "now": case["now_epoch"],
        "policy": case["policy"],
    }
    return asked | changed


def ask(asked: dict[str, Any]) -> dict[str, Any]:
    return answer_line(json.dumps(asked).encode(), answer)


@pytest.mark.req(61)
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_a_shared_case(case: dict[str, Any]) -> None:
    found = ask(question(case))
    assert found["valid"] is case["expect"]["valid"], found
    assert (found["reason"] is None, found["dedup_key"] is not None) == (found["valid"],) * 2
    if case["now_epoch"] is None:
        assert found["freshness"] == "not_checked"
    if "crypto_alone" in case:
        # The case leaves out its URL, without which a signed path has no value.
        url = BY_ID["rfc9421-b26"]["request"]["url"]
        assert ask(question(case, url=url))["reason"] == "body_not_covered"
        assert ask(question(case, url=url, policy="crypto"))["valid"] is case["crypto_alone"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_no_shared_case_holds_without_its_secret_or_with_a_blank_one(case: dict[str, Any]) -> None:
    secrets: tuple[object, ...] = (None, "", "  ", [])
    for secret in secrets:
        found = ask(question(case, secret=secret, policy="endpoint"))
        assert (found["valid"], found["reason"]) == (False, "secret_missing")


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["expect"]["valid"]], ids=lambda case: str(case["id"])
)
def test_no_shared_case_holds_with_another_body(case: dict[str, Any]) -> None:
    other = base64.b64encode(case["request"]["body"].encode() + b"&a=b").decode()
    assert not ask(question(case, body_base64=other, policy="endpoint"))["valid"]


@pytest.mark.parametrize(
    "case",
    [c for c in CASES if c["expect"]["valid"] and c["now_epoch"] is not None],
    ids=lambda case: str(case["id"]),
)
@pytest.mark.parametrize(
    ("shift", "valid"), [(-301, False), (-300, True), (0, True), (300, True), (301, False), (300.5, False)]
)
def test_the_window_is_300_seconds_on_both_sides(case: dict[str, Any], shift: float, valid: bool) -> None:
    signed = 1700000000 if case["id"] == "stripe-rotation" else case["now_epoch"]
    found = ask(question(case, now=signed + shift))
    assert found["valid"] is valid
    assert found["freshness"] == ("fresh" if valid else "too_old" if shift > 0 else "too_new")
    assert ask(question(case, now=None)) == {**found, "valid": True, "reason": None} | {
        "freshness": "not_checked",
        "dedup_key": ask(question(case))["dedup_key"],
    }


PROVIDERS: list[dict[str, Any]] = json.loads((HERE / "webhook_providers.json").read_text(encoding="utf-8"))[
    "providers"
]
SCHEMES = {
    "GitHub": "github",
    "Stripe": "stripe",
    "Slack Events API": "slack",
    "Shopify": "shopify",
    "Twilio": "twilio",
    "GitLab": "gitlab",
    "Svix / Standard Webhooks": "standard-webhooks",
    "Discord": "discord",
    "CloudEvents HTTP": "cloudevents",
}


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: str(provider["provider"]))
def test_every_provider_has_a_scheme(provider: dict[str, Any]) -> None:
    found = ask({"scheme": SCHEMES[provider["provider"]], "secret": "x"})
    assert found["valid"] is False


@pytest.mark.parametrize(
    "asked",
    [
        b"",
        b"[]",
        b"{",
        b"nonsense",
        b'{"scheme":"nobody"}',
        b'{"scheme":1}',
        b'{"scheme":"github","secret":1}',
        b'{"scheme":"github","secret":[1]}',
        b'{"scheme":"github","headers":"x"}',
        b'{"scheme":"github","headers":[["a"]]}',
        b'{"scheme":"github","headers":{"a":1}}',
        b'{"scheme":"github","body_base64":"?"}',
        b'{"scheme":"github","body_base64":1}',
        b'{"scheme":"github","now":"noon"}',
        b'{"scheme":"github","now":true}',
        b'{"scheme":"github","now":"2026-01-01T00:00:00"}',
        b'{"scheme":"github","policy":"lax"}',
        b'{"scheme":"hmac","encoding":"rot13"}',
        b'{"scheme":"hmac","algorithm":"md5"}',
        b'{"scheme":"twilio","url":5}',
    ],
)
def test_a_question_that_cannot_be_read_is_answered_so(asked: bytes) -> None:
    found = answer_line(asked, answer)
    assert found["error"]["code"] == "bad_input"
    assert found["error"]["message"]


def test_headers_may_be_pairs_and_now_an_instant() -> None:
    case = BY_ID["slack-doc"]
    pairs = [[name.upper(), value] for name, value in case["request"]["headers"].items()]
    assert ask(question(case, headers=pairs, now="2018-07-12T18:36:58Z"))["freshness"] == "fresh"
    assert ask(question(case, headers=[*pairs, pairs[0]]))["reason"] == "timestamp_missing"


def test_either_of_two_active_secrets_serves() -> None:
    case = BY_ID["github-doc"]
    assert ask(question(case, secret=["another", case["secret"]]))["valid"]
    assert not ask(question(case, secret=["another", "third"]))["valid"]
