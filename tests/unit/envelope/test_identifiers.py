"""Identifiers sort by time, and people's spelling reads back."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.envelope.identifiers import PREFIXES, Prefix, from_people, to_people, uuid7

MILLIS = st.integers(0, (1 << 48) - 1)
RANDOM = st.binary(min_size=10, max_size=10)


def test_the_example_of_rfc_9562() -> None:
    randomness = (0xCC3 << 68 | 0x18C4DC0C0C07398F).to_bytes(10, "big")
    assert str(uuid7(0x017F22E279B0, randomness)) == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"


@given(MILLIS, RANDOM, MILLIS, RANDOM)
def test_version_variant_and_order(at: int, one: bytes, later: int, other: bytes) -> None:
    first, second = uuid7(at, one), uuid7(later, other)
    assert (first.version, first.variant) == (7, "specified in RFC 4122")
    assert first.int >> 80 == at
    if at < later:
        assert first < second


@given(st.sampled_from(sorted(PREFIXES)), st.uuids())
def test_people_read_back_what_they_were_shown(prefix: Prefix, identifier: UUID) -> None:
    shown = to_people(prefix, identifier)
    assert len(shown) == 36
    assert from_people(shown) == (prefix, identifier)
    assert from_people(str(identifier)) == ("", identifier)
    assert to_people(prefix, str(identifier)) == shown


@pytest.mark.parametrize("text", ["", "rcp_", "rcp_12", "xyz_" + "0" * 32, "_" + "0" * 32, "nonsense"])
def test_what_is_no_identifier(text: str) -> None:
    with pytest.raises(ValueError, match="is not an identifier"):
        from_people(text)


def test_wrong_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="random bytes"):
        uuid7(0, b"short")
    with pytest.raises(ValueError, match="48 bits"):
        uuid7(1 << 48, bytes(10))
