"""The table of states: what becomes of an arriving event, a due instant, an open batch, a ready message and a lease."""

from typing import Any

import pytest

from tests.simulating import (
    Lines,
    at,
    claim,
    claimed,
    decisions,
    do,
    event,
    of_kind,
    simulate,
    states,
    statuses,
    watch,
)

COLLECTING = {"batch": {"window": "5m"}}
HOURLY = {"time": {"every": "1h"}}


@pytest.mark.parametrize(
    ("line", "reason", "flushes"),
    [
        ({"do": "pause"}, "not_active", 0),
        ({"do": "revoke"}, "revoked", 0),
        ({"do": "revoke", "cause": "owner_removed"}, "owner_removed", 0),
        ({"do": "delete"}, None, 0),
        ({"do": "stop"}, "stopped", 0),
        ({"do": "edit", "spec": {"limits": {**COLLECTING, "expires": "2026-03-02T12:02:00Z"}}}, "expired", 1),
    ],
)
def test_an_arriving_event_and_an_open_batch(line: dict[str, Any], reason: str | None, flushes: int) -> None:
    named = line if line["do"] == "stop" else {**line, "subscription": "watch"}
    said = simulate(
        [
            event("e1", "12:00:00"),
            {"at": at("12:01:00"), **named},
            event("e2", "12:03:00"),
            do("12:30:00", "advance"),
        ],
        watch(limits=COLLECTING),
    )
    later = [found for name, _, found in decisions(said) if name == "e2"]
    assert later == ([] if reason is None else [reason])
    assert len(of_kind(said, "flush")) == flushes
    dropped = [(outcome, why) for name, outcome, why in decisions(said)[1:] if name == "e1"]
    taken = {"revoked": "revoked", "owner_removed": "owner_removed", None: "deleted"}.get(reason)
    assert dropped == ([] if taken is None else [("dropped", taken)])


@pytest.mark.parametrize(("frozen", "freed"), [("pause", "resume"), ("stop", "release")])
def test_a_frozen_batch_closes_when_it_is_freed(frozen: str, freed: str) -> None:
    named: dict[str, Any] = {"subscription": "watch"} if frozen == "pause" else {}
    said = simulate(
        [
            event("e1", "12:00:00"),
            do("12:01:00", frozen, **named),
            do("13:00:00", freed, **named),
            claim("13:00:01"),
        ],
        watch(limits=COLLECTING),
    )
    assert [(line["at"], line["events"]) for line in of_kind(said, "flush")] == [(at("13:00:00"), ["e1"])]
    assert claimed(said) == [["M1"]]


def test_a_suspension_keeps_messages_from_being_claimed_and_lets_a_holder_finish() -> None:
    said = simulate(
        [
            event("e1", "12:00:00"),
            event("e2", "12:00:01"),
            claim("12:00:02", 1),
            event("e3", "12:00:03"),
            claim("12:00:04"),
            do("12:00:05", "renew", lease="L1"),
            do("12:00:06", "ack", lease="L1"),
            do("12:00:07", "resume", subscription="watch", held="drop"),
            claim("12:00:08"),
        ],
        watch(limits={"storm": {"threshold": "2/min"}}),
    )
    assert claimed(said) == [["M1"], [], ["M2"]]
    assert statuses(said) == ["ok", "ok"]
    assert decisions(said)[-1] == ("e3", "dropped", "storm")


@pytest.mark.parametrize(
    ("misfire", "delivered"), [("skip", []), ("latest", ["12:00"]), ("all", ["10:00", "11:00", "12:00"])]
)
def test_instants_that_a_stop_held_follow_misfire_when_it_ends(misfire: str, delivered: list[str]) -> None:
    said = simulate(
        [do("09:30:00", "stop"), do("12:30:00", "release"), do("12:59:00", "advance")],
        watch(source=HOURLY, misfire=misfire),
    )
    held = [name for name, outcome, _ in decisions(said) if outcome == "held"]
    assert held == [f"watch@2026-03-02T{hour}:00:00Z" for hour in (10, 11, 12)]
    woken = [name for name, outcome, _ in decisions(said) if outcome == "delivered"]
    assert woken == [f"watch@2026-03-02T{clock}:00Z" for clock in delivered]
    missed = [name for name, _, reason in decisions(said) if reason == "misfire"]
    assert len(missed) == 3 - len(delivered)


def test_what_the_night_collects_is_one_message_in_the_morning() -> None:
    night = {"zone": "Europe/Madrid", "from": "22:00", "to": "07:00"}
    said = simulate(
        [
            event("e1", "20:59:00"),
            event("e2", "21:00:00"),
            event("e3", "03:00:00", day="2026-03-03"),
            do("06:00:00", "advance", day="2026-03-03"),
        ],
        watch(limits={"quiet_hours": night}),
    )
    assert [outcome for _, outcome, _ in decisions(said)] == ["delivered", "merged", "merged"]
    [flush] = of_kind(said, "flush")
    assert (flush["at"], flush["events"]) == ("2026-03-03T06:00:00Z", ["e2", "e3"])


def test_a_message_of_a_serial_key_waits_for_the_one_before_it() -> None:
    lines: Lines = [
        event("e1", "12:00:00", data={"customer": "a"}),
        event("e2", "12:00:01", data={"customer": "a"}),
        event("e3", "12:00:02", data={"customer": "b"}),
        claim("12:00:03"),
        do("12:00:04", "ack", lease="L1"),
        claim("12:00:05"),
    ]
    said = simulate(lines, watch(delivery={"serial_by": "data.customer"}))
    assert claimed(said) == [["M1", "M3"], ["M2"]]


def test_busy_counts_by_serial_key() -> None:
    said = simulate(
        [
            event("e1", "12:00:00", data={"customer": "a"}),
            event("e2", "12:00:01", data={"customer": "a"}),
            event("e3", "12:00:02", data={"customer": "b"}),
        ],
        watch(delivery={"serial_by": "data.customer"}, limits={"when_busy": "drop"}),
    )
    assert [reason for _, _, reason in decisions(said)] == ["delivered", "busy", "delivered"]


def test_an_edit_that_does_not_extend_the_budget_lifts_nothing() -> None:
    once = {"budget": {"activations": "1/day"}}
    said = simulate(
        [
            event("e1", "12:00:00"),
            event("e2", "12:00:01"),
            do("12:01:00", "edit", subscription="watch", spec={"instruction": "Look again."}),
            event("e3", "12:01:01"),
        ],
        watch(limits=once),
    )
    assert states(said) == [("suspended", "budget"), ("suspended", None)]
    assert decisions(said)[-1] == ("e3", "held", "budget")


def test_a_backlog_that_was_kept_for_review_can_still_be_delivered() -> None:
    said = simulate(
        [
            *(event(f"e{n}", f"12:00:0{n}") for n in range(4)),
            do("12:10:00", "resume", subscription="watch"),
            do("12:20:00", "resume", subscription="watch", held="deliver"),
        ],
        watch(limits={"storm": {"threshold": "2/min"}}),
    )
    assert decisions(said)[-2:] == [("e2", "delivered", "delivered"), ("e3", "delivered", "delivered")]
