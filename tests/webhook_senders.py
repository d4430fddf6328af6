"""Senders of every signature scheme, made from the providers' descriptions and not from our own code."""

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

NOW = 1_790_000_000
URL = "https://hooks.example.com/in/token?a=b"
SECRETS = ("a first secret of 32 characters.", "the second secret of the sender.")
SIGNING_KEYS = tuple(Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (1, 2))
Pairs = list[tuple[str, str]]


def mac(secret: str, content: bytes, algorithm: str = "sha256") -> bytes:
    return hmac.digest(secret.encode(), content, algorithm)


def base64_of(value: bytes) -> str:
    return base64.b64encode(value).decode()


@dataclass(frozen=True)
class Sender:
    """How the senders of a scheme sign: `sign(which secret, body, time)` gives the headers."""

    scheme: str
    secrets: tuple[str, str]
    header: str
    sign: Callable[[int, bytes, int], Pairs]
    options: Mapping[str, str] = field(default_factory=dict)
    signs_time: bool = False
    signs_body: bool = True
    body: bytes = '{"a": 1.0,  "b":"é"}'.encode()
    same_meaning: bytes = '{"a":1.0,"b":"é"}'.encode()
    content_type: str = "application/json"
    id: str = ""

    def headers(self, which: int = 0, body: bytes | None = None, now: int = NOW) -> Pairs:
        signed = self.sign(which, self.body if body is None else body, now)
        return [("content-type", self.content_type), *signed]


def _github(which: int, body: bytes, _: int) -> Pairs:
    return [("x-hub-signature-256", "sha256=" + mac(SECRETS[which], body).hex())]


def _shopify(which: int, body: bytes, _: int) -> Pairs:
    return [("x-shopify-hmac-sha256", base64_of(mac(SECRETS[which], body)))]


def _hmac_hex(which: int, body: bytes, _: int) -> Pairs:
    return [("x-signature", "v1=" + mac(SECRETS[which], body).hex())]


def _hmac_base64(which: int, body: bytes, _: int) -> Pairs:
    return [("x-sig", base64_of(mac(SECRETS[which], body, "sha512")))]


def _stripe(which: int, body: bytes, now: int) -> Pairs:
    signature = mac(SECRETS[which], f"{now}.".encode() + body).hex()
    return [("stripe-signature", f"t={now},v0={signature},v1={'0' * 64},v1={signature}")]


def _slack(which: int, body: bytes, now: int) -> Pairs:
    signature = mac(SECRETS[which], f"v0:{now}:".encode() + body).hex()
    return [("x-slack-request-timestamp", str(now)), ("x-slack-signature", f"v0={signature}")]


def standard(prefix: str, which: int, body: bytes, now: int, delivery: str = "msg_1") -> Pairs:
    signature = base64_of(mac(SECRETS[which], f"{delivery}.{now}.".encode() + body))
    return [
        (f"{prefix}-id", delivery),
        (f"{prefix}-timestamp", str(now)),
        (f"{prefix}-signature", f"v9,unknown v1a,AAAA v1,{signature}"),
    ]


def _standard_v1a(which: int, body: bytes, now: int) -> Pairs:
    signature = base64_of(SIGNING_KEYS[which].sign(f"msg_1.{now}.".encode() + body))
    return [
        ("webhook-id", "msg_1"),
        ("webhook-timestamp", str(now)),
        ("webhook-signature", f"v1,{'A' * 43}= v1a,{signature}"),
    ]


def _discord(which: int, body: bytes, now: int) -> Pairs:
    signature = SIGNING_KEYS[which].sign(str(now).encode() + body).hex()
    return [("x-signature-timestamp", str(now)), ("x-signature-ed25519", signature)]


def _ed25519(which: int, body: bytes, _: int) -> Pairs:
    return [("signature", SIGNING_KEYS[which].sign(body).hex())]


def _twilio(which: int, body: bytes, _: int) -> Pairs:
    try:
        fields = sorted(set(parse_qsl(body.decode(), keep_blank_values=True)))
    except UnicodeDecodeError:
        fields = []
    content = URL + "".join(name + value for name, value in fields)
    signature = mac(SECRETS[which], content.encode("utf-8", "surrogatepass"), "sha1")
    return [("x-twilio-signature", base64_of(signature))]


def _bearer(which: int, _body: bytes, _: int) -> Pairs:
    return [("authorization", f"Bearer {SECRETS[which]}")]


def _gitlab_token(which: int, _body: bytes, _: int) -> Pairs:
    return [("x-gitlab-token", SECRETS[which])]


def _rfc9421(sign: Callable[[int, bytes], bytes]) -> Callable[[int, bytes, int], Pairs]:
    def headers(which: int, body: bytes, now: int) -> Pairs:
        digest = f"sha-256=:{base64_of(hashlib.sha256(body).digest())}:"
        covered = f'("@method" "@target-uri" "content-digest");created={now};keyid="k"'
        base = f'"@method": POST\n"@target-uri": {URL}\n"content-digest": {digest}\n"@signature-params": {covered}'
        signature = base64_of(sign(which, base.encode()))
        return [
            ("content-digest", digest),
            ("signature-input", f"sig1={covered}"),
            ("signature", f"sig1=:{signature}:"),
        ]

    return headers


def raw(which: int) -> bytes:
    return SIGNING_KEYS[which].public_key().public_bytes_raw()


BASE64_SECRETS = ("whsec_" + base64_of(SECRETS[0].encode()), "whsec_" + base64_of(SECRETS[1].encode()))
PREFIXED_KEYS = ("whpk_" + base64_of(raw(0)), "whpk_" + base64_of(raw(1)))
HEX_KEYS = (raw(0).hex(), raw(1).hex())
SENDERS = (
    Sender("github", SECRETS, "x-hub-signature-256", _github),
    Sender("shopify", SECRETS, "x-shopify-hmac-sha256", _shopify),
    Sender("hmac", SECRETS, "x-signature", _hmac_hex, {"header": "X-Signature", "prefix": "v1="}, id="hex"),
    Sender(
        "hmac",
        SECRETS,
        "x-sig",
        _hmac_base64,
        {"header": "X-Sig", "encoding": "base64", "algorithm": "sha512"},
        id="base64",
    ),
    Sender("stripe", SECRETS, "stripe-signature", _stripe, signs_time=True),
    Sender("slack", SECRETS, "x-slack-signature", _slack, signs_time=True),
    Sender(
        "standard",
        BASE64_SECRETS,
        "webhook-signature",
        lambda which, body, now: standard("webhook", which, body, now),
        signs_time=True,
        id="v1",
    ),
    Sender(
        "standard",
        PREFIXED_KEYS,
        "webhook-signature",
        _standard_v1a,
        signs_time=True,
        id="v1a",
    ),
    Sender(
        "svix",
        BASE64_SECRETS,
        "svix-signature",
        lambda which, body, now: standard("svix", which, body, now),
        signs_time=True,
    ),
    Sender(
        "gitlab",
        BASE64_SECRETS,
        "webhook-signature",
        lambda which, body, now: standard("webhook", which, body, now),
        signs_time=True,
        id="signed",
    ),
    Sender("gitlab", SECRETS, "x-gitlab-token", _gitlab_token, signs_body=False, id="token"),
    Sender(
        "twilio",
        SECRETS,
        "x-twilio-signature",
        _twilio,
        body=b"CallSid=CA1&Digits=12&From=%2B1415",
        same_meaning=b"CallSid=CA1&Digits=13&From=%2B1415",
        content_type="application/x-www-form-urlencoded",
    ),
    Sender("discord", HEX_KEYS, "x-signature-ed25519", _discord, signs_time=True),
    Sender("ed25519", HEX_KEYS, "signature", _ed25519),
    Sender(
        "rfc9421",
        SECRETS,
        "signature",
        _rfc9421(lambda which, base: mac(SECRETS[which], base)),
        signs_time=True,
        id="hmac",
    ),
    Sender(
        "rfc9421",
        PREFIXED_KEYS,
        "signature",
        _rfc9421(lambda which, base: SIGNING_KEYS[which].sign(base)),
        signs_time=True,
        id="ed25519",
    ),
    Sender("bearer", SECRETS, "authorization", _bearer, signs_body=False),
)
