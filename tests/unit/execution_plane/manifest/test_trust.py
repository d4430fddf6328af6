import base64
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sereno.execution_plane.manifest.trust import TrustError, read
from sereno.subscriptions.snapshot import dump_public_key


def public_key() -> str:
    return dump_public_key(Ed25519PrivateKey.generate().public_key())


def test_one_or_two_keys_are_trusted_by_their_id(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    first, second = public_key(), public_key()
    file.write_text(json.dumps({"old": first, "new": second}))
    assert {key_id: dump_public_key(key) for key_id, key in read(file).items()} == {
        "old": first,
        "new": second,
    }


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("{", "not JSON"),
        ("[]", "expected one or 2 keys"),
        ("{}", "expected one or 2 keys"),
        (json.dumps({name: public_key() for name in "abc"}), "expected one or 2 keys"),
        (json.dumps({"old": "short"}), "key old: expected a public key"),
        (json.dumps({"old": base64.b64encode(b"short").decode()}), "key old: expected a public key"),
    ],
)
def test_anything_else_is_refused_in_a_sentence(written: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_text(written)
    with pytest.raises(TrustError, match=sentence):
        read(file)


def test_a_missing_file_and_a_missing_setting_are_named(tmp_path: Path) -> None:
    with pytest.raises(TrustError, match=r"absent\.json cannot be read"):
        read(tmp_path / "absent.json")
    with pytest.raises(TrustError, match="SERENO_MANIFEST_KEYS_FILE"):
        read(None)
