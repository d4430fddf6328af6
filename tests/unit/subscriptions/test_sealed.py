from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from sereno.subscriptions.sealed import dump_public_key, fingerprint, key_id, load_public_key, seal, unseal

KEY = X25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = X25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
KEYS = {key_id(KEY.public_key()): KEY}


def sealed(secret: bytes, once: int = 7) -> str:
    key = X25519PrivateKey.from_private_bytes(bytes([once]) * 32)
    return seal(secret, KEY.public_key(), key, bound_to="acme/hub")


@settings(max_examples=30, deadline=None)
@given(secret=st.binary(min_size=1, max_size=200))
def test_what_is_sealed_opens_for_its_endpoint_alone(secret: bytes) -> None:
    text = sealed(secret)
    assert unseal(text, KEYS, bound_to="acme/hub") == secret
    assert unseal(text, KEYS, bound_to="acme/other") is None
    assert unseal(text, {}, bound_to="acme/hub") is None
    assert unseal(text, {key_id(KEY.public_key()): OTHER}, bound_to="acme/hub") is None


@settings(max_examples=60, deadline=None)
@given(place=st.integers(min_value=0), written=st.sampled_from("Aa0-_:=é "))
def test_a_changed_text_never_opens_to_another_secret(place: int, written: str) -> None:
    text = sealed(b"a secret of some length")
    at = place % len(text)
    changed = text[:at] + written + text[at + 1 :]
    assert unseal(changed, KEYS, bound_to="acme/hub") in (None, b"a secret of some length")


def test_cut_and_empty_texts_open_nothing() -> None:
    for text in ("", "sealed:", f"sealed:{key_id(KEY.public_key())}:", sealed(b"x")[:60], "env:HOOK"):
        assert unseal(text, KEYS, bound_to="acme/hub") is None


def test_a_fingerprint_tells_sealings_apart_and_not_secrets() -> None:
    assert fingerprint(sealed(b"one", 1)) != fingerprint(sealed(b"one", 2))
    assert len(fingerprint(sealed(b"one"))) == 12


def test_a_public_key_is_read_back() -> None:
    written = dump_public_key(KEY.public_key())
    assert load_public_key(written + "\n").public_bytes_raw() == KEY.public_key().public_bytes_raw()
