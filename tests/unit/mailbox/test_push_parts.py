"""The pure parts of the push adapter: credentials, template, what an answer means."""

import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sereno.mailbox.outbound import Answer
from sereno.mailbox.push.credentials import Bearer, Signature, resolve
from sereno.mailbox.push.template import Template
from sereno.mailbox.push.verdict import MAX_RETRY_AFTER, Again, Done, Refused, RunsOn, verdict

NOW = datetime(2026, 5, 4, 10, 0, tzinfo=UTC)
# The published vector of Standard Webhooks (libraries/python/tests).
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SIGNED = ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
EXPECTED = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_signature_is_that_of_standard_webhooks() -> None:
    assert Signature.of([SECRET]).headers(*SIGNED) == {"webhook-signature": EXPECTED}


def test_while_a_secret_is_replaced_both_sign() -> None:
    other = "whsec_" + base64.b64encode(b"x" * 32).decode()
    first, second = Signature.of([other, SECRET]).headers(*SIGNED)["webhook-signature"].split()
    assert second == EXPECTED
    assert first.startswith("v1,")


@pytest.mark.parametrize(
    "secret", ["whsec_short", "whsec_" + base64.b64encode(b"x" * 23).decode(), "no base64!"]
)
def test_a_secret_that_is_none_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(ValueError, match="expected a secret of") as refused:
        Signature.of([secret])
    assert secret not in str(refused.value)


def test_credentials_do_not_show_themselves() -> None:
    assert "token-text" not in repr(Bearer("token-text"))
    assert "keys" not in repr(Signature.of([SECRET]))


def test_references_lead_to_secrets(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("from a file\n")
    blank = tmp_path / "blank"
    blank.write_text(" \n")
    assert resolve(f"file:{file}") == "from a file"
    assert resolve("env:HOOK", {"HOOK": "from the environment"}) == "from the environment"
    for reference in ("env:HOOK", f"file:{blank}", "file:/nowhere/at/all"):
        with pytest.raises(ValueError, match=r"names nothing|cannot be read"):
            resolve(reference, {"HOOK": ""})
    with pytest.raises(ValueError, match=r"expected env:NAME or file:PATH") as refused:
        resolve("the secret itself")
    assert "the secret itself" not in str(refused.value)


VALUES: dict[str, Any] = {
    "message": {"id": "msg_1", "instruction": 'Say "hi"', "envelopes": [{"type": "t", "data": {"n": 1}}]},
    "prompt": "Say {{ lease.bearer }}",
    "lease": {"bearer": "srnl_1_x"},
    "delivery_id": "msg_1_7",
    "callback": {"ack": "http://s/v1/leases/ack"},
}


@pytest.mark.parametrize(
    ("shape", "filled"),
    [
        ("{{ message.instruction }}", 'Say "hi"'),
        ("Do: {{message.instruction}}!", 'Do: Say "hi"!'),
        ("{{ message.envelopes.0.data }}", {"n": 1}),
        ("n = {{ message.envelopes.0.data.n }}", "n = 1"),
        ("{{ message.envelopes.7.data }}", None),
        ("[{{ message.subject }}]", "[]"),
        ({"a": ["{{ delivery_id }}", 3, True, None]}, {"a": ["msg_1_7", 3, True, None]}),
        ("{{ prompt }}", "Say {{ lease.bearer }}"),
        ("no { hole }", "no { hole }"),
    ],
)
def test_holes_are_filled_with_data_and_data_has_no_holes(shape: Any, filled: Any) -> None:
    template = Template.parse(json.dumps(shape).encode())
    assert json.loads(template.fill(VALUES)) == filled


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"{", "expected a JSON template"),
        (b'"{{ secret }}"', r"starts with one of .*, got \{\{ secret \}\}"),
        (b'["{{ message..id }}"]', "expected a path"),
        (b'"{{ }}"', "expected a path"),
    ],
)
def test_a_template_that_cannot_be_filled_is_refused_at_the_start(text: bytes, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Template.parse(text)


def answer(status: int, body: bytes | None = b"", **headers: str) -> Answer:
    return Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (answer(200, b'{"result": {"a": 1}, "usage": {"tokens": 3}}'), Done({"a": 1}, {"tokens": 3})),
        (answer(200, b'{"result": null}'), Done(None, None)),
        (answer(202, b'{"result": 1}'), RunsOn('the agent answered 202: {"result": 1}')),
        (
            answer(200, b'{"status": "duplicate"}'),
            RunsOn('the agent answered 200: {"status": "duplicate"}'),
        ),
        (
            answer(200, b'{"ok": true, "runId": "r"}'),
            RunsOn('the agent answered 200: {"ok": true, "runId": "r"}'),
        ),
        (answer(200, b"ok"), RunsOn("the agent answered 200: ok")),
        (answer(204), RunsOn("the agent answered 204")),
        (answer(400, b"no message"), Refused("the agent answered 400: no message")),
        (answer(401), Refused("the agent answered 401")),
        (answer(410), Refused("the agent answered 410")),
        (answer(429), Again("failed: the agent answered 429")),
        (answer(408), Again("failed: the agent answered 408")),
        (answer(500, b"\x00oops"), Again("failed: the agent answered 500: \ufffdoops")),
        (answer(503, retry_after="7"), Again("failed: the agent answered 503", timedelta(seconds=7))),
        (answer(307, location="http://x/"), Again("failed: the agent answered 307")),
        (answer(200, None), Again("failed: the agent's answer is too large")),
    ],
)
def test_what_an_answer_means(given: Answer, meant: object) -> None:
    assert verdict(given, NOW) == meant


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("0", timedelta(0)),
        ("99999999", MAX_RETRY_AFTER),
        ("Mon, 04 May 2026 10:01:00 GMT", timedelta(minutes=1)),
        ("Mon, 04 May 2026 09:00:00 GMT", timedelta(0)),
        ("-5", None),
        ("soon", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_bounded(header: str, wait: timedelta | None) -> None:
    assert verdict(answer(503, retry_after=header), NOW) == Again("failed: the agent answered 503", wait)
