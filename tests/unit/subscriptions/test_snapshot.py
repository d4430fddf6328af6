"""Signed manifests: what is trusted, and what never is."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from sereno.subscriptions.snapshot import (
    CatalogObject,
    Entry,
    Manifest,
    Refusal,
    SignedManifest,
    canonical,
    dump_public_key,
    dumps,
    entry,
    is_newer,
    key,
    load_public_key,
    loads,
    read_object,
    root,
    sha256,
    sign,
    verify,
)

NOW = datetime(2026, 12, 1, 12, 0, 0, 123456, tzinfo=UTC)
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
TRUSTED = {"k1": PRIVATE.public_key()}


def subscription(**changes: Any) -> CatalogObject:
    fields: dict[str, Any] = {
        "kind": "Subscription",
        "tenant": "acme",
        "name": "refund-watch",
        "id": "0198c0de-0000-7000-8000-000000000001",
        "version": 3,
        "state": "active",
        "spec": {"b": 1, "a": ["é", None, 0.7]},
        "created_by": "user:marta",
        "updated_at": NOW,
    }
    return CatalogObject(**{**fields, **changes})


def manifest(**changes: Any) -> Manifest:
    entries = changes.pop("entries", {key(subscription()): entry(subscription())})
    fields: dict[str, Any] = {
        "tenant": "acme",
        "epoch": 1,
        "version": 7,
        "issued_at": NOW,
        "valid_until": NOW + timedelta(hours=24),
        "root": root(entries),
        "entries": entries,
        "key_id": "k1",
    }
    return Manifest(**{**fields, **changes})


def refusal_of(signed: SignedManifest, **options: Any) -> str:
    answer = verify(signed, TRUSTED, **options)
    assert isinstance(answer, Refusal)
    return answer.code


def test_a_signed_manifest_survives_its_way_as_json() -> None:
    signed = loads(dumps(sign(manifest(), PRIVATE, "k1")))
    assert isinstance(signed, SignedManifest)
    assert verify(signed, TRUSTED, tenant="acme") == manifest()


def test_an_object_is_what_the_manifest_names() -> None:
    payload = canonical(subscription())
    assert key(subscription()) == "subscription/refund-watch"
    assert read_object(payload, entry(subscription())) == subscription()
    changed = read_object(canonical(subscription(version=4)), entry(subscription()))
    assert isinstance(changed, Refusal)
    assert changed.code == "bad_hash"
    stranger = read_object(b"{}", Entry(version=1, sha256=sha256(b"{}")))
    assert isinstance(stranger, Refusal)
    assert stranger.code == "malformed"


def test_canonical_bytes_are_those_of_rfc_8785() -> None:
    payload = canonical(subscription())
    assert payload.startswith(b'{"created_by":"user:marta","id":')
    assert '"spec":{"a":["é",null,0.7],"b":1}'.encode() in payload
    assert b'"updated_at":"2026-12-01T12:00:00.123456Z"' in payload
    assert canonical(CatalogObject.model_validate_json(payload)) == payload


def test_forgeries_are_refused() -> None:
    signed = sign(manifest(), PRIVATE, "k1")
    other = Ed25519PrivateKey.from_private_bytes(bytes(32))
    raised = signed.payload.replace(b'"version":7', b'"version":8')
    assert refusal_of(signed.model_copy(update={"payload": raised})) == "bad_signature"
    assert refusal_of(sign(manifest(), other, "k1")) == "bad_signature"
    assert refusal_of(sign(manifest(), PRIVATE, "k2")) == "unknown_key"
    assert refusal_of(signed.model_copy(update={"signature": b""})) == "bad_signature"
    assert refusal_of(signed, tenant="globex") == "wrong_tenant"
    assert refusal_of(sign(manifest(root="0" * 64), PRIVATE, "k1")) == "bad_root"


def test_a_bare_signature_over_the_payload_is_none_of_ours() -> None:
    signed = sign(manifest(), PRIVATE, "k1")
    assert (
        refusal_of(signed.model_copy(update={"signature": PRIVATE.sign(signed.payload)})) == "bad_signature"
    )


def test_two_keys_are_trusted_while_one_is_replaced() -> None:
    fresh = Ed25519PrivateKey.from_private_bytes(bytes([1] * 32))
    trusted = {**TRUSTED, "k2": fresh.public_key()}
    for private, key_id in ((PRIVATE, "k1"), (fresh, "k2")):
        assert isinstance(verify(sign(manifest(), private, key_id), trusted), Manifest)


@given(st.binary(max_size=200))
def test_no_bytes_but_ours_are_a_signed_manifest(payload: bytes) -> None:
    assert isinstance(loads(payload), Refusal)


@given(st.integers(0, 10_000))
def test_no_flipped_bit_is_trusted(position: int) -> None:
    signed = sign(manifest(), PRIVATE, "k1")
    flipped = bytearray(signed.payload)
    flipped[position % len(flipped)] ^= 1
    assert refusal_of(signed.model_copy(update={"payload": bytes(flipped)})) == "bad_signature"


def test_a_lower_epoch_or_version_never_replaces_a_higher_one() -> None:
    current = manifest(epoch=2, version=5)
    assert is_newer(current, None)
    for epoch, version, newer in [(2, 6, True), (3, 0, True), (2, 4, False), (1, 9, False), (2, 5, False)]:
        assert is_newer(manifest(epoch=epoch, version=version), current) is newer
    assert not is_newer(manifest(tenant="globex", epoch=9), current)


def test_a_renewal_says_the_same_later() -> None:
    later = NOW + timedelta(seconds=60)
    assert is_newer(manifest(issued_at=later), manifest())
    assert not is_newer(manifest(), manifest(issued_at=later))
    assert not is_newer(manifest(issued_at=later, entries={}), manifest())


def test_the_root_covers_every_entry_and_not_their_order() -> None:
    a, b = Entry(version=1, sha256="a" * 64), Entry(version=1, sha256="b" * 64)
    assert root({"x": a, "y": b}) == root({"y": b, "x": a})
    assert len({root({}), root({"x": a}), root({"x": b}), root({"y": a}), root({"x": a, "y": b})}) == 5


def test_public_keys_travel_as_base64() -> None:
    text = dump_public_key(PRIVATE.public_key())
    assert load_public_key(text).public_bytes_raw() == PRIVATE.public_key().public_bytes_raw()
    for wrong in ("", "not base64!", text[:-8], "é"):
        with pytest.raises(ValueError, match="expected a public key"):
            load_public_key(wrong)


@given(
    st.dictionaries(
        st.text(max_size=12), st.tuples(st.integers(0, 2**53 - 1), st.integers(0, 2**256 - 1)), max_size=20
    )
)
def test_the_root_and_the_signed_bytes_are_those_of_rfc_8785(lines: dict[str, tuple[int, int]]) -> None:
    entries = {
        name: Entry(version=number, sha256=f"{digest:064x}") for name, (number, digest) in lines.items()
    }
    expected = [[name, line.version, line.sha256] for name, line in sorted(entries.items())]
    assert root(entries) == sha256(rfc8785.dumps(expected))  # type: ignore[arg-type]
    manifest = Manifest(
        tenant="acme",
        epoch=1,
        version=1,
        issued_at=NOW,
        valid_until=NOW,
        root=root(entries),
        entries=entries,
        key_id="k",
    )
    assert sign(manifest, Ed25519PrivateKey.generate(), "k").payload == canonical(manifest)
