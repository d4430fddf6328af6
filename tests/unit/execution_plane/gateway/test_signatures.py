"""One suite for every signature scheme; `tests/webhook_senders.py` signs as the providers describe it."""

import base64
import dataclasses
import hashlib
import hmac

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sereno.execution_plane.gateway.headers import Headers
from sereno.execution_plane.gateway.signatures import named
from sereno.execution_plane.gateway.signatures.judgement import authenticate
from sereno.execution_plane.gateway.signatures.scheme import Failed, Request, Scheme, Verified
from tests.webhook_senders import NOW, SECRETS, SENDERS, URL, Sender

TIMED = [sender for sender in SENDERS if sender.signs_time]


def scheme_of(sender: Sender) -> Scheme:
    found = named.scheme(sender.scheme, dataclasses.replace(named.Options(), **sender.options))  # type: ignore[arg-type]
    assert found is not None
    return found


def judged(
    sender: Sender,
    headers: Headers,
    body: bytes | None = None,
    secrets: tuple[str, ...] | None = None,
    now: float | None = NOW,
) -> Verified | Failed:
    request = Request(headers, sender.body if body is None else body, URL)
    known = [secret.encode() for secret in (sender.secrets if secrets is None else secrets)]
    return authenticate(scheme_of(sender), request, known, now)


def valid(*args: object, **kwargs: object) -> bool:
    return isinstance(judged(*args, **kwargs), Verified)  # type: ignore[arg-type]


def name_of(sender: Sender) -> str:
    return f"{sender.scheme}-{sender.id}".rstrip("-")


@pytest.fixture(params=SENDERS, ids=name_of)
def sender(request: pytest.FixtureRequest) -> Sender:
    assert isinstance(request.param, Sender)
    return request.param


@pytest.fixture(params=TIMED, ids=name_of)
def timed(request: pytest.FixtureRequest) -> Sender:
    assert isinstance(request.param, Sender)
    return request.param


class TestEveryScheme:
    def test_accepts_what_its_sender_signed(self, sender: Sender) -> None:
        found = judged(sender, sender.headers())
        assert isinstance(found, Verified), found
        assert (found.timestamp is not None) == sender.signs_time

    def test_accepts_each_of_two_active_secrets_and_none_that_is_not(self, sender: Sender) -> None:
        first, second = sender.secrets
        for which, secrets in ((0, (first, second)), (1, (first, second)), (1, (second, first))):
            assert valid(sender, sender.headers(which), secrets=secrets)
        assert not valid(sender, sender.headers(0), secrets=(second,))

    def test_reads_the_raw_bytes_and_not_their_meaning(self, sender: Sender) -> None:
        assert valid(sender, sender.headers(), body=sender.same_meaning) is not sender.signs_body

    def test_refuses_when_there_is_no_secret_or_a_blank_one(self, sender: Sender) -> None:
        for secrets in ((), ("",), ("  ", ""), ("\n",)):
            assert judged(sender, sender.headers(), secrets=secrets) == Failed("secret_missing")

    def test_a_blank_secret_beside_a_good_one_opens_nothing(self, sender: Sender) -> None:
        assert valid(sender, sender.headers(0), secrets=("", sender.secrets[0]))
        assert not valid(sender, sender.headers(0), secrets=("", sender.secrets[1]))

    def test_refuses_a_missing_an_empty_and_a_repeated_header(self, sender: Sender) -> None:
        signed = sender.headers()
        for name in {name for name, _ in signed} - {"content-type"}:
            without = [pair for pair in signed if pair[0] != name]
            assert not valid(sender, without), name
            assert not valid(sender, [*without, (name, "")]), name
            assert not valid(sender, [*without, (name, " ")]), name
            twice = [pair for pair in signed if pair[0] == name]
            if sender.scheme != "rfc9421":
                assert not valid(sender, [*signed, *twice]), name

    def test_refuses_a_longer_a_shorter_and_an_odd_signature(self, sender: Sender) -> None:
        signed = dict(sender.headers())
        value = signed[sender.header]
        for wrong in (value[:-1], value[:-9], f"{value}0", f"{value}é\udcff", value.swapcase()):
            assert not valid(sender, [*{**signed, sender.header: wrong}.items()]), wrong

    def test_header_names_are_read_in_whatever_case_by_who_lowers_them(self, sender: Sender) -> None:
        padded = [(name, f" {value}\t") for name, value in sender.headers()]
        assert valid(sender, padded)

    def test_a_secret_that_is_not_one_of_its_kind_never_holds_and_never_raises(self, sender: Sender) -> None:
        for secret in ("whsec_", "whsec_?", "whpk_AAAA", "spki:AAAA", "base64:?", "-----BEGIN", "\x00", "é"):
            assert not valid(sender, sender.headers(), secrets=(secret,))


class TestSchemesThatSignTheTime:
    @pytest.mark.parametrize(("shift", "reason"), [(301, "too_old"), (-301, "too_new")])
    def test_refuse_what_is_further_than_300_seconds(self, timed: Sender, shift: int, reason: str) -> None:
        found = judged(timed, timed.headers(), now=NOW + shift)
        assert isinstance(found, Failed)
        assert found.reason == reason

    @pytest.mark.parametrize("shift", [-300, 0, 300])
    def test_accept_both_ends_of_the_window(self, timed: Sender, shift: int) -> None:
        assert valid(timed, timed.headers(), now=NOW + shift)

    @pytest.mark.parametrize(
        "written", ["", "soon", "-1", "+1", "1e9", "1790000000.0", "1790000000000", "\uff11790000000"]
    )
    def test_refuse_a_time_that_is_no_number_of_seconds(self, timed: Sender, written: str) -> None:
        changed = [(name, value.replace(str(NOW), written)) for name, value in timed.headers()]
        assert not valid(timed, changed, now=None)

    def test_refuse_a_time_other_than_the_signed_one(self, timed: Sender) -> None:
        changed = [(name, value.replace(str(NOW), str(NOW + 1))) for name, value in timed.headers()]
        assert not valid(timed, changed)


@settings(max_examples=60, deadline=None)
@given(
    body=st.binary(max_size=200), changed=st.binary(max_size=200), which=st.sampled_from(range(len(SENDERS)))
)
def test_a_signature_fits_one_body_alone(body: bytes, changed: bytes, which: int) -> None:
    sender = SENDERS[which]
    if sender.scheme == "twilio":
        # It signs what a form means; that is shown below.
        return
    assert valid(sender, sender.headers(0, body), body=body)
    assert valid(sender, sender.headers(0, body), body=changed) == (body == changed or not sender.signs_body)


_TEXT = st.text(st.characters(codec="utf-8"), max_size=60) | st.text(
    '0123456789abcdef=,.: v1at;"()', max_size=90
)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), which=st.sampled_from(range(len(SENDERS))))
def test_nothing_that_a_stranger_writes_holds_or_raises(data: st.DataObject, which: int) -> None:
    sender = SENDERS[which]
    body = data.draw(st.binary(max_size=80))
    names = [name for name, _ in sender.headers() if name != "content-type"]
    forged = [(name, data.draw(_TEXT)) for name in names for _ in range(data.draw(st.integers(0, 2)))]
    kind = data.draw(st.sampled_from(["application/json", "application/x-www-form-urlencoded", ""]))
    found = judged(sender, [("content-type", kind), *forged], body=body)
    assert isinstance(found, Failed)


def test_generic_hexadecimal_may_be_in_capitals() -> None:
    sender = next(one for one in SENDERS if one.id == "hex")
    signed = [(name, "v1=" + value[3:].upper()) for name, value in sender.headers()[1:]]
    assert valid(sender, signed)


def test_other_bodies_of_twilio_are_covered_by_the_digest_in_the_url() -> None:
    scheme, body, secret = named.scheme("twilio"), b'{"n":1}', b"token"
    assert scheme is not None
    digest = hashlib.sha256(body).hexdigest()
    for url, sent, valid_ in (
        (f"{URL}&bodySHA256={digest}", body, True),
        (f"{URL}&bodySHA256={digest}", b'{"n":2}', False),
        (f"https://hooks.example.com:443/in/token?a=b&bodySHA256={digest}", body, True),
        (URL, body, False),
    ):
        signed = url.replace(":443", "")
        signature = base64.b64encode(hmac.digest(secret, signed.encode(), "sha1")).decode()
        headers = [("content-type", "application/json"), ("x-twilio-signature", signature)]
        found = authenticate(scheme, Request(headers, sent, url), [secret], None)
        assert isinstance(found, Verified) is valid_, (url, found)


def test_forms_in_another_spelling_are_one_occurrence_for_twilio() -> None:
    sender = next(one for one in SENDERS if one.scheme == "twilio")
    found = [
        judged(sender, sender.headers(), body=body)
        for body in (
            sender.body,
            b"Digits=12&CallSid=CA1&From=%2b1415",
            b"From=%2B1415&CallSid=C%411&Digits=12",
        )
    ]
    assert all(isinstance(one, Verified) for one in found)
    assert len({one.content for one in found if isinstance(one, Verified)}) == 1


def test_a_token_of_gitlab_does_not_excuse_a_signature_that_does_not_hold() -> None:
    signing = next(one for one in SENDERS if one.scheme == "gitlab" and one.id == "signed")
    secrets = (signing.secrets[0], SECRETS[0])
    token = ("x-gitlab-token", SECRETS[0])
    assert valid(signing, [*signing.headers(), token], secrets=secrets)
    assert valid(signing, [("content-type", "application/json"), token], secrets=secrets)
    assert not valid(signing, [*signing.headers(), token], secrets=secrets, now=NOW + 301)
    assert not valid(signing, [*signing.headers(which=1), token], secrets=secrets)
