"""Wake-up scenarios from the public record, each driven through `sereno simulate`: loops, cost, stops, overlap, storms.

The letters are those of the catalogue of cases.
"""

from typing import Any

import pytest

from tests.simulating import (
    Lines,
    agent,
    at,
    claim,
    claimed,
    decisions,
    declared,
    do,
    event,
    of_kind,
    outcomes,
    simulate,
    states,
    statuses,
    watch,
)


def burst(count: int, clock: str = "12:00:00", **more: Any) -> Lines:
    """So many events within one second."""
    return [event(f"e{n}", f"{clock}.{n * 1000 // count:03}", **more) for n in range(count)]


class TestTime:
    @pytest.mark.req(48, 49)
    @pytest.mark.parametrize(
        ("policy", "outcomes_of_slots"),
        [("queue", ["delivered"] * 4), ("drop", ["delivered", "dropped", "dropped", "delivered"])],
    )
    def test_a8_a_run_longer_than_its_interval_has_the_overlap_that_was_declared(
        self, policy: str, outcomes_of_slots: list[str]
    ) -> None:
        slots = watch(
            source={"time": {"every": "1m"}}, limits={"when_busy": policy}, delivery={"lease": "5m"}
        )
        said = simulate(
            [claim("12:00:05"), do("12:02:50", "ack", lease="L1")],
            slots,
            first=at("12:00:00"),
            last=at("12:03:30"),
        )
        # Four slots are due while the first run takes 165 seconds; each has its line, and none is stretched.
        assert outcomes(said) == outcomes_of_slots
        assert [line["at"] for line in of_kind(said, "decision")] == [at(f"12:0{n}:00") for n in range(4)]
        assert {line["reason"] for line in of_kind(said, "decision")} <= {"delivered", "busy"}


class TestWebhook:
    @pytest.mark.req(111)
    def test_c2_one_delivery_id_on_two_routes_is_one_message_each(self) -> None:
        routes = [watch(name, source={"webhook": {"endpoint": name}}) for name in ("r1", "r2")]
        said = simulate(
            [
                event("same", "12:00:00", origin="webhook/r1"),
                event("same", "12:00:01", origin="webhook/r2"),
                event("same", "12:00:02", origin="webhook/r1"),
            ],
            *routes,
        )
        assert outcomes(said) == ["delivered", "delivered", "dropped"]
        assert decisions(said)[-1] == ("same", "dropped", "duplicate")

    def test_c3_identical_bodies_without_id_two_hours_apart_are_two_messages(self) -> None:
        key = "body:" + "0" * 64
        said = simulate(
            [
                event("e1", "12:00:00", dedupkey=key),
                event("e2", "12:59:00", dedupkey=key),
                event("e3", "14:00:00", dedupkey=key),
            ]
        )
        assert outcomes(said) == ["delivered", "dropped", "delivered"]

    def test_c6_a_retry_under_a_new_delivery_id_is_one_message_and_both_are_shown(self) -> None:
        said = simulate([event("E", "12:00:00", receiptid="D1"), event("E", "12:01:00", receiptid="D2")])
        assert decisions(said) == [("E", "delivered", "delivered"), ("E", "dropped", "duplicate")]
        assert of_kind(said, "decision")[1]["numbers"]["of"] == "D1"


RING = [
    watch(name, agent=f"agent:{who}", source={"webhook": {"endpoint": endpoint}})
    for name, who, endpoint in (("a", "one", "x"), ("b", "two", "y"), ("c", "three", "z"))
]


def _round() -> Lines:
    return [
        event("e1", "12:00:00", origin="webhook/x"),
        event("e2", "12:00:01", origin="webhook/y", causationid="M1", hops=2),
        event("e3", "12:00:02", origin="webhook/z", causationid="M2", hops=3),
        event("e4", "12:00:03", origin="webhook/x", causationid="M3", hops=4),
    ]


class TestLoops:
    @pytest.mark.req(27, 101, 168)
    def test_d1_a_chain_through_three_agents_back_to_the_first_is_refused_with_its_path(self) -> None:
        said = simulate(_round(), *RING)
        assert outcomes(said) == ["delivered"] * 3 + ["dropped"]
        last = of_kind(said, "decision")[-1]
        assert (last["guard"], last["reason"]) == ("cycle", "cycle")
        assert last["numbers"]["path"] == ["one", "two", "three", "one"]

    def test_d1_with_an_explicit_permit_it_goes_round_up_to_its_cap(self) -> None:
        first, *others = RING
        permitted = watch(
            "a",
            agent="agent:one",
            source={"webhook": {"endpoint": "x"}},
            limits={"reentry": 1},
        )
        said = simulate(
            [
                *_round(),
                event("e5", "12:00:04", origin="webhook/x", causationid="M4", hops=5),
            ],
            permitted,
            *others,
        )
        assert first["metadata"]["name"] == "a"
        assert outcomes(said) == ["delivered"] * 4 + ["dropped"]
        assert decisions(said)[-1][2] == "cycle"

    def test_d1_a_chain_longer_than_the_tenant_allows_is_too_deep_over_any_agents(self) -> None:
        tenant = declared("Tenant", "acme", zone="UTC", max_chain=3)
        said = simulate([event("e1", "12:00:00", hops=3), event("e2", "12:00:01", hops=4)], watch(), tenant)
        assert decisions(said) == [("e1", "delivered", "delivered"), ("e2", "dropped", "too_deep")]

    def test_d2_what_the_agent_itself_did_at_the_source_does_not_wake_it(self) -> None:
        own = agent(identities=[{"origin": "webhook/zendesk", "actor": "triage-bot"}])
        said = simulate(
            [
                event("e1", "12:00:00", actor="triage-bot"),
                event("e2", "12:00:01", actor="marta"),
                event("e3", "12:00:02", actor="triage-bot", origin="webhook/other"),
            ],
            watch(),
            own,
        )
        assert decisions(said) == [("e1", "dropped", "self_origin"), ("e2", "delivered", "delivered")]

    @pytest.mark.req(76, 103)
    def test_d3_twenty_events_in_a_minute_under_a_cooldown_are_one_wake_and_one_batch_of_nineteen(
        self,
    ) -> None:
        said = simulate(
            [
                *(event(f"e{n}", f"12:00:{3 * n:02}") for n in range(20)),
                do("12:29:59", "advance"),
                claim("12:29:59"),
                do("12:30:00", "advance"),
                claim("12:30:00"),
            ],
            watch(limits={"cooldown": {"every": "30m", "then": "batch"}}),
        )
        assert outcomes(said) == ["delivered"] + ["merged"] * 19
        [flush] = of_kind(said, "flush")
        assert (flush["at"], flush["message"]) == (at("12:30:00"), "M2")
        assert flush["events"] == [f"e{n}" for n in range(1, 20)]
        assert claimed(said) == [["M1"], ["M2"]]

    def test_d4_an_effect_that_comes_back_with_its_message_wakes_nobody(self) -> None:
        said = simulate([event("e1", "12:00:00"), event("e2", "12:00:30", causationid="M1", hops=2)])
        assert decisions(said) == [("e1", "delivered", "delivered"), ("e2", "dropped", "cycle")]

    def test_without_genealogy_two_machines_that_take_turns_about_one_object_are_a_storm_of_that_object(
        self,
    ) -> None:
        turns = [
            event(f"e{n}", f"12:{n:02}:00", actor=("bot-a", "bot-b")[n % 2], subject="ticket/42")
            for n in range(14)
        ]
        others = event("other", "12:20:00", actor="bot-a", subject="ticket/7")
        said = simulate([*turns, others])
        stopped = outcomes(said).index("suspended")
        assert outcomes(said)[:stopped] == ["delivered"] * 10
        assert set(outcomes(said)[stopped + 1 : 14]) == {"held"}
        assert decisions(said)[-1] == ("other", "delivered", "delivered")
        numbers = of_kind(said, "decision")[stopped]["numbers"]
        assert (numbers["scope"], numbers["subject"]) == ("object", "ticket/42")
        assert sorted(numbers["actors"]) == ["bot-a", "bot-b"]

    def test_people_may_talk_about_one_object_for_as_long_as_they_like(self) -> None:
        talk = [
            event(
                f"e{n}",
                f"12:{n:02}:00",
                actor=("marta", "luis")[n % 2],
                actorid=("user:marta", "user:luis")[n % 2],
                subject="ticket/42",
            )
            for n in range(40)
        ]
        assert set(outcomes(simulate(talk))) == {"delivered"}


class TestCost:
    HALF = watch(limits={"budget": {"cost": {"limit": "0.50 EUR/day", "reserve": "0.30 EUR"}}})

    @pytest.mark.req(102, 175)
    def test_e2_of_five_concurrent_wakes_the_reserve_admits_one(self) -> None:
        said = simulate(burst(5), self.HALF)
        assert outcomes(said) == ["delivered", "suspended", "held", "held", "held"]
        numbers = of_kind(said, "decision")[1]["numbers"]
        assert (numbers["used"], numbers["limit"], numbers["reserve"]) == (
            "0.30 EUR",
            "0.50 EUR/day",
            "0.30 EUR",
        )

    @pytest.mark.req(102, 175)
    def test_e2_the_reservation_reconciles_when_the_run_reports(self) -> None:
        said = simulate(
            [
                event("e1", "12:00:00"),
                claim("12:00:01"),
                do("12:00:02", "ack", lease="L1", usage={"cost": "0.15 EUR"}),
                event("e2", "12:01:00"),
                claim("12:01:01"),
                do("12:01:02", "ack", lease="L2", usage={"cost": {"amount": "5.11", "currency": "EUR"}}),
                event("e3", "12:02:00"),
            ],
            self.HALF,
        )
        assert outcomes(said) == ["delivered", "delivered", "suspended"]
        assert of_kind(said, "decision")[2]["numbers"]["amount"] == "5.26 EUR"

    @pytest.mark.req(115, 153, 172)
    def test_e3_at_the_limit_it_is_suspended_with_the_amount_and_extended_without_loss(self) -> None:
        said = simulate(
            [
                *(event(f"e{n}", f"12:00:0{n}") for n in range(6)),
                do(
                    "13:00:00",
                    "edit",
                    subscription="watch",
                    spec={"limits": {"budget": {"activations": "100/day"}}},
                ),
                event("e6", "13:00:01"),
            ],
            watch(limits={"budget": {"activations": "2/day"}}),
        )
        assert outcomes(said)[:6] == ["delivered"] * 2 + ["suspended"] + ["held"] * 3
        assert decisions(said)[6:] == [(f"e{n}", "delivered", "delivered") for n in (2, 3, 4, 5, 6)]
        assert states(said) == [("suspended", "budget"), ("active", None)]
        assert of_kind(said, "decision")[2]["numbers"]["amount"] == "2"

    def test_e3_a_new_period_lifts_nothing_by_itself(self) -> None:
        said = simulate(
            [*burst(3), event("late", "12:00:00", day="2026-03-04")],
            watch(limits={"budget": {"activations": "2/day"}}),
        )
        assert outcomes(said) == ["delivered", "delivered", "suspended", "held"]

    @pytest.mark.parametrize("level", ["agent", "tenant"])
    def test_what_an_agent_or_a_tenant_may_use_counts_the_same(self, level: str) -> None:
        budget = {"activations": "3/day"}
        above = (
            agent(budget=budget)
            if level == "agent"
            else declared("Tenant", "acme", zone="UTC", budget=budget)
        )
        said = simulate(burst(2), watch("a"), watch("b"), above)
        assert outcomes(said) == ["delivered", "delivered", "delivered", "suspended"]
        assert of_kind(said, "decision")[3]["numbers"]["scope"] == level

    def test_a_day_is_that_of_the_tenant(self) -> None:
        tenant = declared("Tenant", "acme", zone="America/New_York")
        once = watch(limits={"budget": {"activations": "1/day"}})
        said = simulate(
            # 03:30 UTC is still the day before in New York; at 05:30 the next one has begun there.
            [event("e1", "03:30:00"), event("e2", "05:30:00"), event("e3", "06:00:00")],
            once,
            tenant,
        )
        assert outcomes(said) == ["delivered", "delivered", "suspended"]

    def test_usage_in_another_currency_is_told_and_the_reservation_stands(self) -> None:
        said = simulate(
            [
                event("e1", "12:00:00"),
                claim("12:00:01"),
                do("12:00:02", "ack", lease="L1", usage={"cost": "0.01 USD"}),
                event("e2", "12:01:00"),
            ],
            self.HALF,
        )
        assert states(said)[0] == ("active", "currency")
        assert of_kind(said, "decision")[1]["numbers"]["used"] == "0.30 EUR"

    def test_a_dead_message_gives_back_what_it_did_not_use(self) -> None:
        said = simulate(
            [
                event("e1", "12:00:00"),
                claim("12:00:01"),
                do("12:00:02", "fail", lease="L1", reason="rejected", usage={"cost": "0.05 EUR"}),
                event("e2", "12:01:00"),
                event("e3", "12:02:00"),
            ],
            self.HALF,
        )
        assert outcomes(said) == ["delivered", "delivered", "suspended"]
        assert of_kind(said, "decision")[2]["numbers"]["used"] == "0.35 EUR"

    @pytest.mark.req(79)
    def test_the_last_of_its_occurrences_exhausts_it(self) -> None:
        said = simulate(burst(4), watch(limits={"max_occurrences": 2}))
        assert [reason for _, _, reason in decisions(said)] == ["delivered"] * 2 + ["exhausted"] * 2
        assert states(said) == [("exhausted", "max_occurrences")]

    MEANT = watch(condition={"criterion": "Does it demand a refund?"})

    def test_e1_ten_identical_noes_about_the_same_data_suspend_with_one_notice(self) -> None:
        lines: Lines = []
        for n in range(12):
            lines += [
                event(f"e{n}", f"12:{n:02}:00", data={"queue": "empty"}),
                do(f"12:{n:02}:01", "verdict", event=f"e{n}", fires=False, confidence=0.9, evidence=[]),
            ]
        said = simulate(lines[: 2 * 10] + lines[2 * 10 :: 2], self.MEANT)
        assert states(said) == [("suspended", "no_change")]
        assert outcomes(said)[:20] == ["awaiting_verdict", "dropped"] * 10
        assert outcomes(said)[20:] == ["held", "held"]

    def test_e1_a_refused_key_of_the_evaluator_suspends_after_three_and_asks_no_more(self) -> None:
        lines: Lines = []
        for n in range(3):
            lines += [
                event(f"e{n}", f"12:{n:02}:00"),
                do(f"12:{n:02}:01", "verdict", event=f"e{n}", error="auth"),
            ]
        said = simulate([*lines, event("e3", "13:00:00"), event("e4", "13:00:01")], self.MEANT)
        assert states(said) == [("suspended", "errors")]
        assert outcomes(said) == ["awaiting_verdict", "error"] * 3 + ["held", "held"]


class TestStops:
    def test_f1_an_edit_does_not_wake_what_is_paused(self) -> None:
        said = simulate(
            [
                do("12:00:00", "pause", subscription="watch"),
                do("12:00:01", "edit", subscription="watch", spec={"instruction": "Look again."}),
                event("e1", "12:00:02"),
            ]
        )
        assert decisions(said) == [("e1", "dropped", "not_active")]
        assert [state for state, _ in states(said)] == ["paused", "paused"]

    def test_f2_a_wake_for_a_suspended_agent_is_named_and_never_a_success(self) -> None:
        said = simulate(
            [do("12:00:00", "revoke", subscription="watch", cause="agent_suspended"), event("e1", "12:00:01")]
        )
        assert decisions(said) == [("e1", "dropped", "agent_suspended")]

    @pytest.mark.parametrize("what", ["edit", "resume"])
    def test_f3_what_a_person_deleted_is_not_brought_back_by_a_stale_writer(self, what: str) -> None:
        from sereno.execution_plane.simulate.lines import LineFault

        more: dict[str, Any] = {"spec": {"instruction": "Look again."}} if what == "edit" else {}
        with pytest.raises(LineFault, match=f"line 2: cannot {what} a subscription that is deleted"):
            simulate(
                [
                    do("12:00:00", "delete", subscription="watch"),
                    do("12:00:01", what, subscription="watch", **more),
                ]
            )

    def test_f4_a_stop_holds_everything_and_its_release_lets_it_go(self) -> None:
        said = simulate(
            [
                event("e1", "12:00:00"),
                event("e2", "12:00:01"),
                claim("12:00:02", 1),
                do("12:00:03", "stop", scope="*", reason="fire"),
                claim("12:00:04"),
                do("12:00:05", "renew", lease="L1"),
                event("e3", "12:00:06"),
                do("12:00:07", "release", scope="*"),
                claim("12:00:08"),
            ]
        )
        assert claimed(said) == [["M1"], [], ["M1", "M2", "M3"]]
        assert statuses(said) == ["cancelled"]
        assert decisions(said)[2:] == [("e3", "held", "stopped"), ("e3", "delivered", "delivered")]
        assert states(said) == [("stopped", "fire"), ("active", None)]

    def test_f4_a_stop_of_one_agent_leaves_the_others(self) -> None:
        two = [watch("a", agent="agent:one"), watch("b", agent="agent:two")]
        said = simulate([do("12:00:00", "stop", scope="acme/agent/one"), event("e1", "12:00:01")], *two)
        assert outcomes(said) == ["held", "delivered"]

    def test_f4_a_stop_outranks_cooldown_and_quiet_hours(self) -> None:
        quiet = {"zone": "UTC", "from": "00:00", "to": "23:00", "then": "drop"}
        said = simulate(
            [do("12:00:00", "stop"), event("e1", "12:00:01")],
            watch(limits={"cooldown": {"every": "1h"}, "quiet_hours": quiet}),
        )
        assert decisions(said) == [("e1", "held", "stopped")]

    @pytest.mark.req(15, 95)
    def test_f5_a_right_that_was_taken_between_creation_and_fire_is_not_used(self) -> None:
        said = simulate(
            [
                event("e1", "12:00:00"),
                do("12:00:01", "revoke", subscription="watch"),
                event("e2", "12:00:02"),
                claim("12:00:03"),
            ]
        )
        assert decisions(said)[-1] == ("e2", "dropped", "revoked")
        assert claimed(said) == [[]]


class TestOverlap:
    def test_i1_a_stale_holder_changes_nothing_after_a_re_claim(self) -> None:
        said = simulate(
            [
                event("e1", "12:00:00"),
                claim("12:00:00"),
                claim("12:02:00"),
                do("12:02:01", "ack", lease="L1"),
                do("12:02:02", "ack", lease="L2"),
            ]
        )
        assert statuses(said) == ["stale", "ok"]

    def test_i4_with_drop_nothing_queues_behind_a_run_and_the_next_after_it_is_delivered(self) -> None:
        said = simulate(
            [
                event("e0", "12:00:00"),
                claim("12:00:01"),
                *(event(f"e{n}", f"12:00:1{n}") for n in range(1, 6)),
                do("12:00:30", "ack", lease="L1"),
                event("e6", "12:00:31"),
            ],
            watch(limits={"when_busy": "drop"}),
        )
        assert [reason for _, _, reason in decisions(said)] == ["delivered"] + ["busy"] * 5 + ["delivered"]

    def test_i5_what_comes_while_the_agent_holds_a_lease_is_one_batch_at_its_next_claim(self) -> None:
        said = simulate(
            [
                event("e0", "12:00:00"),
                claim("12:00:01"),
                *(event(f"e{n}", f"12:00:1{n}") for n in range(1, 4)),
                claim("12:00:20"),
                do("12:00:30", "ack", lease="L1"),
                claim("12:00:31"),
            ],
            watch(limits={"when_busy": "merge"}),
        )
        assert outcomes(said) == ["delivered"] + ["merged"] * 3
        assert claimed(said) == [["M1"], [], ["M2"]]
        assert of_kind(said, "flush")[0]["events"] == ["e1", "e2", "e3"]


class TestStormsAndBatches:
    @pytest.mark.req(104)
    def test_j1_notices_with_one_cause_are_one_message_with_their_count(self) -> None:
        failures = burst(199, data={"cause": "rate limited"})
        said = simulate(
            [*failures, do("12:01:00", "advance")],
            watch(limits={"batch": {"window": "30s", "max_items": 500, "by": "data.cause"}}),
        )
        [flush] = of_kind(said, "flush")
        assert (len(flush["events"]), flush["message"]) == (199, "M1")

    @pytest.mark.req(106, 154)
    def test_j2_a_burst_is_paused_at_its_threshold_and_the_rest_kept_with_its_cause(self) -> None:
        said = simulate(
            [
                *burst(52),
                event("later", "15:00:00"),
                do("16:00:00", "resume", subscription="watch", reason="the feed is mended", held="review"),
                event("again", "16:00:01"),
            ],
            watch(limits={"storm": {"threshold": "20/min"}}),
        )
        made = decisions(said)
        assert [outcome for _, outcome, _ in made[:20]] == ["delivered"] * 20
        assert made[20] == ("e20", "suspended", "storm")
        assert {(outcome, reason) for _, outcome, reason in made[21:53]} == {("held", "storm")}
        assert made[53:] == [("again", "delivered", "delivered")]
        assert states(said) == [("suspended", "storm"), ("active", "the feed is mended")]

    @pytest.mark.parametrize(
        ("choice", "becomes"),
        [("deliver", ("delivered", "delivered")), ("drop", ("dropped", "storm")), ("review", None)],
    )
    def test_j2_a_person_says_what_becomes_of_what_was_held(
        self, choice: str, becomes: tuple[str, str] | None
    ) -> None:
        said = simulate(
            [*burst(52), do("12:00:02", "resume", subscription="watch", held=choice)],
            watch(limits={"storm": {"threshold": "20/min"}}),
        )
        after = [(outcome, reason) for _, outcome, reason in decisions(said)[52:]]
        assert after == ([] if becomes is None else [becomes] * 32)
        # The old burst does not trip it again.
        assert len([line for line in states(said) if line[0] == "suspended"]) == 1

    @pytest.mark.req(77, 104)
    def test_j3_five_events_in_a_window_are_one_message_with_five_events(self) -> None:
        said = simulate(
            [*(event(f"e{n}", f"12:00:0{n}") for n in range(5)), do("12:05:00", "advance")],
            watch(limits={"batch": {"window": "5m"}}),
        )
        assert of_kind(said, "flush") == [
            {
                "kind": "flush",
                "at": at("12:05:00"),
                "subscription": "watch",
                "batch": "B1",
                "events": ["e0", "e1", "e2", "e3", "e4"],
                "message": "M1",
            }
        ]

    def test_j4_a_storm_of_forty_ticks_is_one_pause_and_one_notice(self) -> None:
        ticks = [event(f"e{n}", f"12:{n:02}:{s:02}") for n in range(40) for s in (0, 20, 40)]
        renamed = [{**tick, "id": f"t{n}"} for n, tick in enumerate(ticks)]
        said = simulate(renamed, watch(limits={"storm": {"threshold": "2/min"}}))
        assert states(said) == [("suspended", "storm")]
        assert outcomes(said).count("suspended") == 1

    def test_what_a_cooldown_drops_still_counts_toward_a_storm(self) -> None:
        said = simulate(
            [*burst(30), event("next", "12:00:06")],
            watch(limits={"cooldown": {"every": "5s"}, "storm": {"threshold": "20/min"}}),
        )
        assert decisions(said)[-1] == ("next", "suspended", "storm")

    def test_one_object_may_storm_alone(self) -> None:
        noisy = burst(12, subject="ticket/1")
        said = simulate(
            [*noisy, event("calm", "12:00:02", subject="ticket/2")],
            watch(limits={"storm": {"threshold": "100/min", "per_object": "10/min"}}),
        )
        assert outcomes(said) == ["delivered"] * 10 + ["suspended", "held", "delivered"]


class TestJudgement:
    MEANT = watch(condition={"criterion": "Does it demand a refund?", "min_confidence": 0.7})
    ASKED = event("e1", "12:00:00", data={"body": "I want my money back"})

    @pytest.mark.parametrize(
        ("kind", "answer"),
        [
            ("bad_json", {"answer": "yes"}),
            ("truncated", {"answer": '{"fires": true, "confidence": 0.9, "evid'}),
            ("refusal", {"error": "refusal"}),
            ("timeout", {"error": "timeout"}),
            ("budget", {"error": "budget"}),
            ("confidence", {"fires": True, "confidence": 1.7, "evidence": []}),
            ("wrong_type", {"fires": "yes", "confidence": 0.9, "evidence": []}),
            ("missing_field", {"fires": True, "evidence": []}),
            (
                "evidence",
                {"fires": True, "confidence": 0.9, "evidence": [{"item": "e1", "quote": "not in it"}]},
            ),
        ],
    )
    def test_k2_what_is_no_verdict_wakes_nobody_and_is_a_typed_error(
        self, kind: str, answer: dict[str, Any]
    ) -> None:
        said = simulate(
            [self.ASKED, do("12:00:01", "verdict", event="e1", **answer), claim("12:00:02")], self.MEANT
        )
        last = of_kind(said, "decision")[-1]
        assert (last["outcome"], last["guard"], last["reason"]) == ("error", "condition", kind)
        assert claimed(said) == [[]]

    @pytest.mark.parametrize(
        ("answer", "outcome", "reason"),
        [
            ({"fires": True, "confidence": 0.7}, "delivered", "delivered"),
            ({"fires": True, "confidence": 0.69}, "dropped", "not_met"),
            ({"fires": False, "confidence": 1}, "dropped", "not_met"),
        ],
    )
    def test_only_a_verdict_that_is_sure_enough_wakes(
        self, answer: dict[str, Any], outcome: str, reason: str
    ) -> None:
        evidence = [{"item": "e1", "quote": "my money back"}]
        verdict = do("12:00:01", "verdict", event="e1", evidence=evidence, **answer)
        said = simulate([self.ASKED, verdict], self.MEANT)
        assert decisions(said)[0] == ("e1", "awaiting_verdict", "awaiting_verdict")
        assert decisions(said)[1] == ("e1", outcome, reason)

    def test_the_verdict_passes_all_seven_guards_and_so_does_not_wake_what_was_paused_meanwhile(self) -> None:
        said = simulate(
            [
                self.ASKED,
                do("12:00:01", "pause", subscription="watch"),
                do("12:00:02", "verdict", event="e1", fires=True, confidence=0.9, evidence=[]),
            ],
            self.MEANT,
        )
        assert decisions(said)[-1] == ("e1", "dropped", "not_active")

    def test_a_candidate_is_judged_once_and_its_retry_is_a_duplicate(self) -> None:
        said = simulate([self.ASKED, {**self.ASKED, "time": at("12:00:05")}], self.MEANT)
        assert decisions(said)[1] == ("e1", "dropped", "duplicate")

    def test_while_everything_stands_still_nobody_is_asked_to_judge(self) -> None:
        said = simulate([do("11:00:00", "stop"), self.ASKED], self.MEANT)
        assert decisions(said) == [("e1", "held", "stopped")]


class TestIsolation:
    def test_k6_the_same_route_and_id_of_two_tenants_never_meet(self) -> None:
        two = [watch("watch", "t1"), watch("watch", "t2")]
        said = simulate(
            [
                event("same", "12:00:00", tenantid="t1"),
                event("same", "12:00:01", tenantid="t2"),
                event("same", "12:00:02", tenantid="t1"),
            ],
            *two,
        )
        assert outcomes(said) == ["delivered", "delivered", "dropped"]
