"""Natural keys: the same occurrence, the same key; another, never."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.envelope import dedup_key
from tests.unit.envelope.generated import SOURCES, TEXT

AT = datetime(2027, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.mark.req(42)
def test_the_keys_as_they_are_written() -> None:
    assert dedup_key.of_event("/zendesk", "evt-1") == "/zendesk#evt-1"
    assert dedup_key.of_delivery("msg_1") == "delivery:msg_1"
    assert dedup_key.of_body("ab" * 32) == "body:" + "ab" * 32
    assert dedup_key.of_instant("nightly", AT) == "time:nightly@2027-03-04T05:06:07Z"
    assert dedup_key.of_state("run_1", "finished") == "state:run_1@finished"


def test_a_key_that_no_index_could_hold_is_its_digest() -> None:
    long, other = (dedup_key.of_event("/s", "é" * 5000 + end) for end in "ab")
    assert long == dedup_key.of_event("/s", "é" * 5000 + "a")
    assert long != other
    assert long.startswith("sha256 of#")
    assert len(long) < 100


@given(SOURCES, TEXT, SOURCES, TEXT)
def test_two_events_share_a_key_only_when_source_and_id_agree(a: str, b: str, c: str, d: str) -> None:
    assert (dedup_key.of_event(a, b) == dedup_key.of_event(c, d)) == ((a, b) == (c, d))


@given(
    st.text("#@%a", max_size=4),
    st.text("#@%a", max_size=4),
    st.text("#@%a", max_size=4),
    st.text("#@%a", max_size=4),
)
def test_separators_inside_the_parts_never_collide(a: str, b: str, c: str, d: str) -> None:
    assert (dedup_key.of_state(a, b) == dedup_key.of_state(c, d)) == ((a, b) == (c, d))


def test_an_instant_is_the_same_in_every_zone_and_needs_an_offset() -> None:
    there = AT.astimezone(timezone(timedelta(hours=9)))
    assert dedup_key.of_instant("n", there) == dedup_key.of_instant("n", AT)
    with pytest.raises(ValueError, match="offset"):
        dedup_key.of_instant("n", AT.replace(tzinfo=None))


@pytest.mark.parametrize("digest", ["", "AB" * 32, "ab" * 31, "ab" * 32 + "\n"])
def test_a_body_key_is_a_sha256(digest: str) -> None:
    with pytest.raises(ValueError, match="64 lower-case"):
        dedup_key.of_body(digest)
