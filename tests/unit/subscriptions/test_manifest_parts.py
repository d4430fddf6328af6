"""A signed manifest that is too large for one message travels in parts, and comes out as it went in or not at all."""

import pytest

from sereno.subscriptions import manifest_parts
from sereno.subscriptions.manifest_parts import PART_BYTES, join, listed, split
from sereno.subscriptions.snapshot import Refusal, sha256


@pytest.mark.parametrize("size", [0, 1, PART_BYTES, PART_BYTES + 1, 5 * PART_BYTES, 15_000_000])
def test_what_was_split_is_joined_as_it_was(size: int) -> None:
    signed = (b"%09d" % size) * (size // 9 + 1)
    signed = signed[:size]
    written = split(signed)
    assert len(written.value) <= PART_BYTES
    assert all(len(part) <= PART_BYTES and sha256(part) == name for name, part in written.parts.items())
    assert set(listed(written.value)) == written.parts.keys()
    assert join(written.value, written.parts) == signed


def test_a_missing_or_false_part_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_parts, "PART_BYTES", 4)
    written = split(b"abcdefghij")
    second = sha256(b"efgh")
    missing = join(written.value, {name: part for name, part in written.parts.items() if name != second})
    false = join(written.value, {**written.parts, second: b"EFGH"})
    expected = Refusal("bad_hash", "part 2 of 3 of the manifest is not in the bucket")
    assert (missing, false) == (expected, expected)


@pytest.mark.parametrize("value", [b"", b"not json", b"[]", b"7", b'{"payload": "x"}', b'{"parts": 7}'])
def test_what_lists_no_parts_is_taken_as_it_is(value: bytes) -> None:
    assert join(value, {}) == value
