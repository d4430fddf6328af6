"""HTTP message signatures: the examples of RFC 9421, and what a signature must not get away with."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS, PKCS1v15
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sereno.execution_plane.gateway.signatures.judgement import authenticate
from sereno.execution_plane.gateway.signatures.message_signatures import MessageSignatures
from sereno.execution_plane.gateway.signatures.message_signatures.components import Missing, value_of
from sereno.execution_plane.gateway.signatures.message_signatures.structured import (
    InnerList,
    Item,
    dictionary,
)
from sereno.execution_plane.gateway.signatures.scheme import Failed, Request, Verified
from tests.webhook_senders import NOW, base64_of, mac

CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[3] / "cases" / "webhook_signatures.json").read_text())
}
SECRET = "a shared secret of the two of us"
URL = "https://Example.com:443/foo?param=Value&Pet=dog&x=1&x=2"
BODY = b'{"hello": "world"}'
DIGEST = f"sha-256=:{base64_of(hashlib.sha256(BODY).digest())}:"
HEADERS = [
    ("host", "example.com"),
    ("content-digest", DIGEST),
    ("content-type", "application/json"),
    ("x-twice", "a"),
    ("x-twice", " b "),
    ("x-folded", "long\r\n  value"),
    ("x-dict", "a=1, b=2;x=1;y=2, c=(a b)"),
]
EXAMPLES = {
    "b22": (
        '("@authority" "content-digest");created=1618884473;keyid="test-key-rsa-pss"',
        (
            "Fee1uy9YGZq5UUwwYU6vz4dZNvfw3GYrFl1L6YlVIyUMuWswWDNSvql4dVtSeidYjYZUm7SBCENIb5KYy2ByoC3bI+7gydd2i4OAT5lyDtm"
            "eapnAa8uP/b9xUpg+VSPElbBs6JWBIQsd+nMdHDe+ls/IwVMwXktC37SqsnbNyhNp6kcvcWpevjzFcD2VqdZleUz4jN7P+W5A3wHiMGfIjI"
            "Wn36KXNB+RKyrlGnIS8yaBBrom5rcZWLrLbtg6VlrH1+/07RV+kgTh/l10h8qgpl9zQHu7mWbDKTq0tJ8K4ywcPoC4s2I4rU88jzDKDGdTT"
            "QFZoTVZxZmuTM1FvHfzIw=="
        ),
    ),
    "b23": (
        (
            '("date" "@method" "@path" "@query" "@authority" "content-type" "content-digest" "content-length")'
            ';created=1618884473;keyid="test-key-rsa-pss"'
        ),
        (
            "bbN8oArOxYoyylQQUU6QYwrTuaxLwjAC9fbY2F6SVWvh0yBiMIRGOnMYwZ/5MR6fb0Kh1rIRASVxFkeGt683+qRpRRU5p2voTp768ZrCUb3"
            "8K0fUxN0O0iC59DzYx8DFll5GmydPxSmme9v6ULbMFkl+V5B1TP/yPViV7KsLNmvKiLJH1pFkh/aYA2HXXZzNBXmIkoQoLd7YfW91kE9o/C"
            "CoC1xMy7JA1ipwvKvfrs65ldmlu9bpG6A9BmzhuzF8Eim5f8ui9eH8LZH896+QIF61ka39VBrohr9iyMUJpvRX2Zbhl5ZJzSRxpJyoEZAFL"
            "2FUo5fTIztsDZKEgM4cUA=="
        ),
    ),
}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_examples_of_the_rfc_that_cover_the_body(name: str) -> None:
    case = CASES["rfc9421-b21"]
    covered, signature = EXAMPLES[name]
    headers = {key.lower(): value for key, value in case["request"]["headers"].items()}
    headers |= {"signature-input": f"sig={covered}", "signature": f"sig=:{signature}:"}
    request = Request([*headers.items()], BODY, case["request"]["url"])
    found = authenticate(MessageSignatures(), request, [case["secret"].encode()], 1618884473)
    assert isinstance(found, Verified), found
    other = Request(request.headers, b'{"hello": "WORLD"}', request.url)
    assert authenticate(MessageSignatures(), other, [case["secret"].encode()], None) == Failed(
        "digest_mismatch"
    )


def component(text: str) -> Item:
    found = dictionary(f"x=({text})")
    assert found is not None
    inner = found["x"]
    assert isinstance(inner, InnerList)
    return inner.items[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ('"@method"', "POST"),
        ('"@target-uri"', URL),
        ('"@authority"', "example.com"),
        ('"@scheme"', "https"),
        ('"@path"', "/foo"),
        ('"@query"', "?param=Value&Pet=dog&x=1&x=2"),
        ('"@request-target"', "/foo?param=Value&Pet=dog&x=1&x=2"),
        ('"@query-param";name="Pet"', "dog"),
        ('"x-twice"', "a, b"),
        ('"x-twice";bs', ":YQ==:, :Yg==:"),
        ('"x-folded"', "long value"),
        ('"x-dict";key="b"', "2;x=1;y=2"),
        ('"x-dict";key="c"', "(a b)"),
        ('"content-digest";sf', DIGEST),
    ],
)
def test_the_value_of_a_component(name: str, value: str) -> None:
    assert value_of(component(name), Request(HEADERS, BODY, URL)) == value


@pytest.mark.parametrize(
    "name",
    [
        '"@status"',
        '"@query-param";name="x"',
        '"@query-param";name="none"',
        '"@query-param"',
        '"@method";req',
        '"@nothing"',
        '"x-absent"',
        '"X-Twice"',
        '"x-dict";key="z"',
        '"x-dict";sf',
        '"x-twice";tr',
        '"x-twice";bs;key="a"',
        '"x-twice";unknown',
        "5",
    ],
)
def test_a_component_that_has_no_value(name: str) -> None:
    assert isinstance(value_of(component(name), Request(HEADERS, BODY, URL)), Missing)


def signed(
    covered: str,
    *,
    base: str | None = None,
    label: str = "sig1",
    sign: Any = lambda content: mac(SECRET, content),
) -> list[tuple[str, str]]:
    """Headers with a signature over the lines in `base`, by default those of a digest and a method."""
    lines = f'"content-digest": {DIGEST}\n"@method": POST\n' if base is None else base
    content = f'{lines}"@signature-params": {covered}'.encode()
    return [
        ("signature-input", f"{label}={covered}"),
        ("signature", f"{label}=:{base64_of(sign(content))}:"),
    ]


def judged(
    headers: list[tuple[str, str]],
    *,
    secret: str = SECRET,
    scheme: MessageSignatures | None = None,
    now: float | None = NOW,
) -> Verified | Failed:
    request = Request([("content-digest", DIGEST), *headers], BODY, URL)
    return authenticate(scheme or MessageSignatures(), request, [secret.encode()], now)


GOOD = f'("content-digest" "@method");created={NOW}'


@pytest.mark.parametrize(
    ("covered", "reason"),
    [
        (GOOD, None),
        (f'{GOOD};alg="hmac-sha256";keyid="k";nonce="n";tag="t"', None),
        (f"{GOOD};expires={NOW + 1}", None),
        (f"{GOOD};expires={NOW + 1};unknown", None),
        (f"{GOOD};expires={NOW - 1}", "signature_malformed"),
        (f'("content-digest" "@method");created={NOW - 200};expires={NOW - 100}', "expired"),
        ('("content-digest" "@method")', "timestamp_missing"),
        (f'("content-digest" "@method");created="{NOW}"', "signature_malformed"),
        (f'("content-digest" "@method");created={NOW}.0', "signature_malformed"),
        ('("content-digest" "@method");created', "signature_malformed"),
        (f'{GOOD};alg="ed25519"', "algorithm_not_allowed"),
        (f'{GOOD};alg="none"', "algorithm_not_allowed"),
        (f"{GOOD};alg=hmac-sha256", "signature_malformed"),
        (f"{GOOD};created={NOW}", "signature_malformed"),
        (f'("content-digest" "@method" "@method");created={NOW}', "signature_malformed"),
        (f'("content-digest" "@method" "x-absent");created={NOW}', "component_missing"),
        (f'("content-digest" "@method"  );created={NOW}', "signature_mismatch"),
        (f"content-digest;created={NOW}", "signature_missing"),
        (f'("content-digest" "@method";created={NOW}', "signature_malformed"),
    ],
)
def test_the_parameters_of_a_signature(covered: str, reason: str | None) -> None:
    found = judged(signed(covered))
    assert (found.reason if isinstance(found, Failed) else None) == reason


def test_a_body_that_is_not_covered_is_not_proven() -> None:
    covered = f'("@method");created={NOW}'
    assert judged(signed(covered, base='"@method": POST\n')) == Failed("body_not_covered")


@pytest.mark.parametrize(
    ("digest", "reason"),
    [
        (DIGEST, None),
        (f"{DIGEST}, md5=:AAAA:", None),
        (f"sha-512=:{base64_of(hashlib.sha512(BODY).digest())}:, {DIGEST}", None),
        (f"{DIGEST}, sha-512=:AAAA:", "digest_mismatch"),
        ("md5=:AAAA:", "digest_missing"),
        ("sha-256=AAAA", "digest_malformed"),
        ("sha-256", "digest_malformed"),
        (f"{DIGEST}, {DIGEST}", "digest_malformed"),
        ("sha-256=:AAAA:", "digest_mismatch"),
    ],
)
def test_the_digest_must_be_that_of_the_body(digest: str, reason: str | None) -> None:
    headers = signed(GOOD, base=f'"content-digest": {digest}\n"@method": POST\n')
    request = Request([("content-digest", digest), *headers], BODY, URL)
    found = authenticate(MessageSignatures(), request, [SECRET.encode()], NOW)
    assert (found.reason if isinstance(found, Failed) else None) == reason


def test_what_the_endpoint_demands_must_be_covered() -> None:
    assert isinstance(judged(signed(GOOD), scheme=MessageSignatures(("@method",))), Verified)
    wanted = MessageSignatures(("@target-uri",))
    assert judged(signed(GOOD), scheme=wanted) == Failed("component_not_covered")
    assert judged(signed(GOOD), scheme=MessageSignatures(tag="app")) == Failed("tag_mismatch")
    assert isinstance(judged(signed(f'{GOOD};tag="app"'), scheme=MessageSignatures(tag="app")), Verified)


def test_one_of_several_signatures_has_to_hold_and_proves_what_it_covers() -> None:
    weak = signed(f'("@method");created={NOW}', base='"@method": POST\n', label="weak")
    good = signed(GOOD, label="good")
    both = [(name, f"{one}, {other}") for (name, one), (_, other) in zip(weak, good, strict=True)]
    assert isinstance(judged(both), Verified)
    assert isinstance(judged([*weak, *good]), Verified)
    twice = [(name, f"{one}, {one}") for name, one in good]
    assert judged(twice) == Failed("signature_malformed")
    many = [(name, ", ".join(f"l{n}{value[4:]}" for n in range(9))) for name, value in signed(GOOD)]
    assert judged(many) == Failed("signature_malformed")


RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
P256, P384 = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP384R1())


def fixed(key: ec.EllipticCurvePrivateKey, content: bytes) -> bytes:
    width = key.key_size // 8
    algorithm = SHA256() if width == 32 else SHA384()
    halves = decode_dss_signature(key.sign(content, ec.ECDSA(algorithm)))
    return b"".join(half.to_bytes(width, "big") for half in halves)


def pem(key: Any) -> str:
    encoded: bytes = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return encoded.decode()


ED25519 = Ed25519PrivateKey.from_private_bytes(bytes(31) + b"\x01")
ASYMMETRIC: dict[str, tuple[str, Any]] = {
    "ed25519": (pem(ED25519), ED25519.sign),
    "rsa-pss-sha512": (pem(RSA), lambda c: RSA.sign(c, PSS(MGF1(SHA512()), 64), SHA512())),
    "rsa-v1_5-sha256": (pem(RSA), lambda c: RSA.sign(c, PKCS1v15(), SHA256())),
    "ecdsa-p256-sha256": (pem(P256), lambda c: fixed(P256, c)),
    "ecdsa-p384-sha384": (pem(P384), lambda c: fixed(P384, c)),
}


@pytest.mark.parametrize("algorithm", sorted(ASYMMETRIC))
def test_every_algorithm_with_its_own_key_alone(algorithm: str) -> None:
    key, sign = ASYMMETRIC[algorithm]
    named = f'{GOOD};alg="{algorithm}"'
    assert isinstance(judged(signed(named, sign=sign), secret=key), Verified)
    assert isinstance(judged(signed(GOOD, sign=sign), secret=key), Verified) == (
        algorithm != "rsa-v1_5-sha256"
    )
    for other, (other_key, _) in ASYMMETRIC.items():
        if other_key != key:
            assert isinstance(judged(signed(named, sign=sign), secret=other_key), Failed), other


def test_a_public_key_is_never_taken_for_a_shared_secret() -> None:
    for key, _ in ASYMMETRIC.values():
        for alg in ("", ';alg="hmac-sha256"'):
            forged = signed(GOOD + alg, sign=lambda content, key=key: mac(key, content))
            assert isinstance(judged(forged, secret=key), Failed)


@pytest.mark.parametrize("small", ["00" * 32, "01" + "00" * 31, "ec" + "ff" * 30 + "7f", "00" * 31 + "80"])
def test_a_key_under_which_anybody_can_sign_is_none(small: str) -> None:
    secret = "whpk_" + base64_of(bytes.fromhex(small))
    assert judged(signed(GOOD, sign=lambda _: bytes.fromhex(small) + bytes(32)), secret=secret) == Failed(
        "secret_malformed"
    )
