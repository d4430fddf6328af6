"""Limits proposed from a subscription's own events: with their number, never below a least one, and simulated."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.envelope.encode import flat
from sereno.execution_plane.simulate.calibrate_command import document, proposal
from sereno.execution_plane.simulate.calibration import LEAST, TooFewError, calibrate, percentile
from sereno.execution_plane.simulate.lines import Line, Received
from tests.passages import TENANT, received

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
ZONE = ZoneInfo("Europe/Madrid")
SPEC = {
    "owner": "user:marta",
    "agent": "agent:support-triage",
    "instruction": "Draft a reply.",
    "source": {"webhook": {"endpoint": "zendesk"}},
}


def bursts(days: int = 10) -> list[datetime]:
    """Each day six bursts, four hours apart, of five events ten seconds apart."""
    return [
        MONDAY + timedelta(days=day, hours=4 * burst, seconds=10 * event)
        for day in range(days)
        for burst in range(6)
        for event in range(5)
    ]


def lines(moments: list[datetime]) -> list[tuple[int, Line]]:
    noon = received().recordedtime
    events = [received(n, after=moment - noon) for n, moment in enumerate(moments, start=1)]
    return [(n, Received(event, flat(event))) for n, event in enumerate(events, start=1)]


@pytest.mark.req(164)
def test_limits_follow_from_the_percentiles_of_its_own_events() -> None:
    found = calibrate(bursts(), ZoneInfo("UTC"))
    assert found.events == 300
    assert found.percentiles["gap_seconds"] == {"p50": 10, "p75": 10, "p90": 14360, "p99": 14360}
    assert found.percentiles["per_minute"]["p99"] == 5
    assert found.percentiles["per_day"]["p50"] == 30
    assert found.limits["cooldown"] == {"every": "10s", "then": "batch"}
    assert found.limits["storm"] == {"threshold": "10/min"}
    # Another tenant's events come to other limits.
    slower = calibrate([MONDAY + timedelta(minutes=7 * n) for n in range(200)], ZONE)
    assert slower.limits["cooldown"]["every"] == "7m"


@pytest.mark.parametrize("count", [0, 1, LEAST - 1])
def test_too_few_events_are_refused_with_their_number(count: int) -> None:
    with pytest.raises(TooFewError, match=f"at least {LEAST} events; found {count}"):
        calibrate([MONDAY + timedelta(hours=n) for n in range(count)], ZONE)


@given(
    st.lists(st.integers(0, 40 * 86_400), min_size=LEAST, max_size=3 * LEAST),
    st.sampled_from(["UTC", "Asia/Tokyo"]),
)
def test_whatever_is_proposed_may_be_declared(seconds: list[int], zone: str) -> None:
    found = calibrate([MONDAY + timedelta(seconds=one) for one in seconds], ZoneInfo(zone))
    assert document(TENANT, "watch", {**SPEC, "limits": found.limits}).canonical()["limits"]["cooldown"]


@given(st.lists(st.integers(-9, 9), min_size=1), st.integers(1, 100))
def test_a_percentile_is_a_value_that_so_many_do_not_exceed(values: list[int], share: int) -> None:
    found = percentile(values, share)
    assert sum(value <= found for value in values) * 100 >= share * len(values)
    assert sum(value < found for value in values) * 100 < share * len(values)


def test_the_difference_is_simulated_and_present_limits_do_not_bias_the_proposal() -> None:
    past = lines(bursts())
    told = proposal(TENANT, "watch", SPEC, past, ZONE)
    limited = {**SPEC, "limits": {"cooldown": {"every": "3h"}, "reentry": 1}}
    again = proposal(TENANT, "watch", limited, past, ZONE)
    assert told["n"] == again["n"] == 300
    assert told["limits"] == again["limits"]
    assert told["simulated"]["before"]["messages"] == 300
    after = told["simulated"]["after"]
    # Nothing is dropped: every event is in a message.
    assert after["delivered"] + after["merged"] == after["arrived"] == 300
    assert after["messages"] < 300
    assert again["simulated"]["before"]["dropped by cooldown"] == 240


def test_what_it_did_not_match_is_not_counted() -> None:
    other = {**SPEC, "filters": [{"exact": {"type": "another"}}]}
    with pytest.raises(TooFewError, match="found 0"):
        proposal(TENANT, "watch", other, lines(bursts()), ZONE)
