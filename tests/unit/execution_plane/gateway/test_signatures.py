"""One suite for every signature scheme, and the public vectors of GitHub."""

import base64
import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.execution_plane.gateway.headers import Headers
from sereno.execution_plane.gateway.signatures.github import GitHub
from sereno.execution_plane.gateway.signatures.hmac_header import HmacHeader
from sereno.execution_plane.gateway.signatures.scheme import Scheme

BODY = '{"a": 1.0,  "b":"é"}'.encode()
SAME_JSON_WRITTEN_ANEW = '{"a":1.0,"b":"é"}'.encode()
KEY, OTHER_KEY = b"first key", b"second key"


def digest(key: bytes, body: bytes) -> bytes:
    return hmac.digest(key, body, hashlib.sha256)


@dataclass(frozen=True)
class Sender:
    """How a sender of a scheme signs."""

    scheme: Scheme
    header: str
    spell: Callable[[bytes], str]

    def sign(self, key: bytes, body: bytes) -> list[tuple[str, str]]:
        return [("content-type", "application/json"), (self.header, self.spell(digest(key, body)))]


SENDERS = [
    Sender(GitHub(), "x-hub-signature-256", lambda d: "sha256=" + d.hex()),
    Sender(HmacHeader("X-Signature"), "x-signature", lambda d: d.hex()),
    Sender(HmacHeader("X-Signature", "v1="), "x-signature", lambda d: "v1=" + d.hex()),
    Sender(HmacHeader("X-Sig", "", "base64"), "x-sig", lambda d: base64.b64encode(d).decode()),
    Sender(HmacHeader("X-Sig", "hmac ", "base64"), "x-sig", lambda d: "hmac " + base64.b64encode(d).decode()),
]


@pytest.fixture(params=SENDERS, ids=lambda sender: f"{sender.scheme.name}-{sender.header}")
def sender(request: pytest.FixtureRequest) -> Sender:
    assert isinstance(request.param, Sender)
    return request.param


class TestEveryScheme:
    def test_accepts_what_its_sender_signed(self, sender: Sender) -> None:
        assert sender.scheme.verify(sender.sign(KEY, BODY), BODY, [KEY])

    def test_accepts_either_of_two_active_secrets(self, sender: Sender) -> None:
        assert sender.scheme.verify(sender.sign(OTHER_KEY, BODY), BODY, [KEY, OTHER_KEY])
        assert sender.scheme.verify(sender.sign(KEY, BODY), BODY, [KEY, OTHER_KEY])

    def test_reads_the_raw_bytes_and_not_their_meaning(self, sender: Sender) -> None:
        assert not sender.scheme.verify(sender.sign(KEY, BODY), SAME_JSON_WRITTEN_ANEW, [KEY])

    def test_refuses_another_key(self, sender: Sender) -> None:
        assert not sender.scheme.verify(sender.sign(b"a stranger's", BODY), BODY, [KEY, OTHER_KEY])

    def test_refuses_when_there_is_no_secret(self, sender: Sender) -> None:
        assert not sender.scheme.verify(sender.sign(b"", BODY), BODY, [])

    def test_refuses_a_missing_an_empty_and_a_repeated_header(self, sender: Sender) -> None:
        signed = sender.sign(KEY, BODY)
        assert not sender.scheme.verify(signed[:1], BODY, [KEY])
        assert not sender.scheme.verify([(sender.header, "")], BODY, [KEY])
        assert not sender.scheme.verify([*signed, signed[-1]], BODY, [KEY])

    def test_refuses_characters_that_no_signature_has(self, sender: Sender) -> None:
        assert not sender.scheme.verify([(sender.header, "sha256=é\udcff")], BODY, [KEY])

    def test_signs_no_time(self, sender: Sender) -> None:
        assert sender.scheme.signs_time is False


@given(body=st.binary(max_size=200), changed=st.binary(max_size=200), key=st.binary(min_size=1, max_size=80))
def test_a_signature_fits_one_body_alone(body: bytes, changed: bytes, key: bytes) -> None:
    for sender in SENDERS:
        assert sender.scheme.verify(sender.sign(key, body), changed, [key]) == (body == changed)


GITHUB_KEY = b"It's a Secret to Everybody"
GITHUB_SIGNATURE = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"


@pytest.mark.parametrize(
    ("headers", "valid"),
    [
        ([("x-hub-signature-256", f"sha256={GITHUB_SIGNATURE}")], True),
        ([("x-hub-signature", "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59")], False),
        ([("x-hub-signature-256", f"sha256={GITHUB_SIGNATURE.upper()}")], False),
        ([("x-hub-signature-256", GITHUB_SIGNATURE)], False),
    ],
    ids=["documented", "sha1-only", "upper-case", "without-prefix"],
)
def test_the_published_values_of_github(headers: Headers, valid: bool) -> None:
    assert GitHub().verify(headers, b"Hello, World!", [GITHUB_KEY]) is valid


def test_generic_hexadecimal_may_be_in_capitals() -> None:
    scheme = HmacHeader("X-Signature")
    assert scheme.verify([("x-signature", digest(KEY, BODY).hex().upper())], BODY, [KEY])
