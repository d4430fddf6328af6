"""`sereno simulate`: the protocol of its lines, virtual time, and what a bad line is answered."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from sereno.deploy.main import build
from sereno.mailbox.cli.exits import CommandError

EVENT: dict[str, Any] = {
    "specversion": "1.0",
    "id": "e-1",
    "source": "/zendesk",
    "type": "com.zendesk.ticket",
    "origin": "webhook/zendesk",
    "time": "2026-03-02T12:00:00Z",
}
Lines = list[dict[str, Any]]


def declaration(name: str = "watch", **spec: Any) -> dict[str, Any]:
    written = {
        "owner": "user:marta",
        "agent": "agent:triage",
        "instruction": "Look.",
        "source": {"webhook": {"endpoint": "zendesk"}},
        **spec,
    }
    return {
        "apiVersion": "sereno/v1",
        "kind": "Subscription",
        "metadata": {"name": name, "tenant": "acme"},
        "spec": written,
    }


class Bench:
    """Runs the command in the test's folder and reads what it printed."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._capsys = capsys

    def simulate(
        self,
        lines: Sequence[Mapping[str, Any] | bytes],
        *subscriptions: dict[str, Any],
        flags: tuple[str, ...] = (),
    ) -> Lines:
        declared = b"\n---\n".join(orjson.dumps(one) for one in subscriptions or (declaration(),))
        (self._folder / "subscriptions.yaml").write_bytes(declared)
        texts = [line if isinstance(line, bytes) else orjson.dumps(line) for line in lines]
        (self._folder / "events.jsonl").write_bytes(b"\n".join(texts))
        app = build("simulate")
        files = [
            f"--{name}={self._folder / name}.{kind}"
            for name, kind in (("subscriptions", "yaml"), ("events", "jsonl"))
        ]
        app(["simulate", *files, "--json", *flags], standalone_mode=False)
        return [orjson.loads(line) for line in self._capsys.readouterr().out.splitlines()]


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def at(clock: str) -> str:
    return f"2026-03-02T{clock}Z"


def event(name: str, clock: str, **more: Any) -> dict[str, Any]:
    return {**EVENT, "id": name, "time": at(clock), **more}


def reasons(lines: Lines) -> list[tuple[str, str]]:
    return [(line["event"], line["reason"]) for line in lines if line["kind"] == "decision"]


def test_what_a_line_leaves_out_follows_from_what_it_says(bench: Bench) -> None:
    first, again = bench.simulate([EVENT, {**EVENT, "time": at("12:01:00")}])
    assert (first["at"], first["outcome"], first["message"]) == (at("12:00:00"), "delivered", "M1")
    assert again["numbers"]["key"] == again["numbers"]["of"] == "/zendesk#e-1"


def test_platform_attributes_are_taken_as_written(bench: Bench) -> None:
    written = {"recordedtime": at("12:30:00"), "dedupkey": "k", "receiptid": "r-1", "hops": 9}
    [said] = bench.simulate([{**EVENT, **written}])
    assert (said["at"], said["reason"], said["numbers"]["hops"]) == (at("12:30:00"), "too_deep", 9)


@pytest.mark.req(107)
def test_time_subscriptions_make_their_own_events_between_from_and_to(bench: Bench) -> None:
    hourly = declaration(source={"time": {"every": "1h"}})
    flags = ("--from", at("10:00:00"), "--to", at("12:00:00"))
    nothing: Lines = []
    said = bench.simulate(nothing, hourly, flags=flags)
    assert [line["event"] for line in said] == [f"watch@2026-03-02T{hour}:00:00Z" for hour in (10, 11, 12)]
    assert {line["outcome"] for line in said} == {"delivered"}


def test_a_slot_inside_a_pause_and_after_an_edit_of_the_rule(bench: Bench) -> None:
    hourly = declaration(source={"time": {"every": "1h"}})
    said = bench.simulate(
        [
            {"at": at("09:30:00"), "do": "pause", "subscription": "watch", "reason": "lunch"},
            {"at": at("10:30:00"), "do": "resume", "subscription": "watch", "reason": "back"},
            {
                "at": at("10:45:00"),
                "do": "edit",
                "subscription": "watch",
                "spec": {"source": {"time": {"every": "10m"}}},
            },
            {"at": at("11:00:00"), "do": "advance"},
        ],
        hourly,
    )
    assert reasons(said) == [
        ("watch@2026-03-02T10:00:00Z", "not_active"),
        ("watch@2026-03-02T10:50:00Z", "delivered"),
        ("watch@2026-03-02T11:00:00Z", "delivered"),
    ]


def test_twenty_events_inside_a_cooldown_wake_once(bench: Bench) -> None:
    """D3: whatever woke it, the interval holds."""
    watch = declaration(limits={"cooldown": {"every": "30m"}})
    said = bench.simulate([event(f"e-{n}", f"12:00:{3 * n:02}") for n in range(20)], watch)
    assert [reason for _, reason in reasons(said)] == ["delivered"] + ["cooldown"] * 19


def test_a_revoked_subscription_says_so_and_its_messages_are_not_claimable(bench: Bench) -> None:
    said = bench.simulate(
        [
            event("e-1", "12:00:00"),
            {"at": at("12:01:00"), "do": "revoke", "subscription": "watch"},
            event("e-2", "12:02:00"),
            {"at": at("12:03:00"), "do": "claim", "agent": "triage"},
        ]
    )
    assert reasons(said) == [("e-1", "delivered"), ("e-2", "revoked")]
    assert said[-1]["messages"] == []


def test_a_pause_keeps_messages_and_cancels_at_the_next_renewal(bench: Bench) -> None:
    said = bench.simulate(
        [
            event("e-1", "12:00:00"),
            {"at": at("12:00:10"), "do": "claim", "agent": "triage"},
            {"at": at("12:00:20"), "do": "pause", "subscription": "watch"},
            {"at": at("12:00:30"), "do": "renew", "lease": "L1"},
            {"at": at("12:00:40"), "do": "ack", "lease": "L1"},
            {"at": at("12:00:50"), "do": "claim", "agent": "triage"},
            {"at": at("12:01:00"), "do": "resume", "subscription": "watch"},
            {"at": at("12:01:10"), "do": "claim", "agent": "triage"},
            {"at": at("12:01:20"), "do": "ack", "lease": "L2"},
            {"at": at("12:01:30"), "do": "ack", "lease": "L9"},
        ]
    )
    assert [(line["lease"], line["status"]) for line in said if line["kind"] == "lease"] == [
        ("L1", "cancelled"),
        ("L1", "cancelled"),
        ("L2", "ok"),
        ("L9", "unknown"),
    ]
    assert [line["messages"] for line in said if line["kind"] == "claim"] == [["M1"], [], ["M1"]]


def test_a_stale_holder_changes_nothing_after_a_re_claim(bench: Bench) -> None:
    """I1: the lease ran out, another holder took the message."""
    said = bench.simulate(
        [
            event("e-1", "12:00:00"),
            {"at": at("12:00:00"), "do": "claim", "agent": "triage"},
            {"at": at("12:02:00"), "do": "claim", "agent": "triage"},
            {"at": at("12:02:01"), "do": "ack", "lease": "L1"},
            {"at": at("12:02:02"), "do": "renew", "lease": "L1"},
            {"at": at("12:02:03"), "do": "fail", "lease": "L1"},
            {"at": at("12:02:04"), "do": "ack", "lease": "L2"},
        ]
    )
    statuses = [line["status"] for line in said if line["kind"] == "lease"]
    assert statuses == ["stale", "stale", "stale", "ok"]


def test_a_chain_through_three_agents_back_to_the_first_is_refused(bench: Bench) -> None:
    """D1: the path is shown."""
    ring = [
        declaration(name, agent=f"agent:{agent}", source={"webhook": {"endpoint": endpoint}})
        for name, agent, endpoint in (("a", "one", "x"), ("b", "two", "y"), ("c", "three", "z"))
    ]
    said = bench.simulate(
        [
            event("e-1", "12:00:00", origin="webhook/x"),
            event("e-2", "12:00:01", origin="webhook/y", causationid="M1", hops=2),
            event("e-3", "12:00:02", origin="webhook/z", causationid="M2", hops=3),
            event("e-4", "12:00:03", origin="webhook/x", causationid="M3", hops=4),
        ],
        *ring,
    )
    assert [line["outcome"] for line in said] == ["delivered"] * 3 + ["dropped"]
    assert said[-1]["numbers"]["path"] == ["one", "two", "three", "one"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "line 2: expected one JSON object"),
        (b"[]", "line 2: expected a JSON object"),
        ({**EVENT, "id": ""}, "line 2: id: "),
        ({**EVENT, "specversion": "0.3"}, "line 2: specversion: "),
        ({**EVENT, "time": at("11:59:59")}, "line 2: .* is earlier than the line before it"),
        ({k: v for k, v in EVENT.items() if k != "time"}, "line 2: recordedtime: expected"),
        ({k: v for k, v in EVENT.items() if k != "origin"}, "line 2: origin: expected"),
        ({"at": at("12:00:01"), "do": "dance"}, "line 2: .*dance"),
        (
            {"at": at("12:00:01"), "do": "stop", "scope": "nobody"},
            "line 2: scope: nobody is not declared",
        ),
        ({"at": at("12:00:01"), "do": "stop", "scope": "a/b"}, "line 2: scope: expected"),
        ({"at": at("12:00:01"), "do": "release"}, r"line 2: scope: no stop stands for \*"),
        (
            {"at": at("12:00:01"), "do": "verdict", "event": "e-1", "fires": True},
            "line 2: event: e-1 waits for no verdict",
        ),
        ({"at": "noon", "do": "advance"}, "line 2: at: expected an instant"),
        ({"do": "advance"}, "line 2: at: "),
        (
            {"at": at("12:00:01"), "do": "pause", "subscription": "nobody"},
            "line 2: subscription: nobody is not declared",
        ),
        ({"at": at("12:00:01"), "do": "resume", "subscription": "watch"}, "line 2: cannot resume"),
        ({"at": at("12:00:01"), "do": "claim", "agent": "triage", "max": 0}, "line 2: max: "),
        ({"at": at("12:00:01"), "do": "ack", "lease": "7"}, "line 2: lease: "),
        ({"at": at("12:00:01"), "do": "ack", "lease": "L" + "9" * 5000}, "line 2: lease: "),
        (
            {
                "at": at("12:00:01"),
                "do": "edit",
                "subscription": "watch",
                "spec": {"limits": {"cooldown": {"every": "0s"}}},
            },
            "line 2: .*spec.limits.cooldown.every: expected a duration longer than zero",
        ),
    ],
)
def test_a_bad_line_is_named_and_ends_the_run_with_exit_code_2(
    bench: Bench, line: dict[str, Any] | bytes, message: str
) -> None:
    lines: list[Any] = [EVENT, line]
    with pytest.raises(CommandError, match=message) as refused:
        bench.simulate(lines)
    assert refused.value.exit_code == 2


def test_faulty_subscriptions_are_refused_with_every_fault(bench: Bench) -> None:
    with pytest.raises(CommandError) as refused:
        bench.simulate([EVENT], declaration(owner="marta"), declaration("other", agent="triage"))
    assert refused.value.exit_code == 2
    assert "documents[0].spec.owner" in refused.value.message
    assert "documents[1].spec.agent" in refused.value.message


@pytest.mark.parametrize(
    ("limits", "path", "sentence"),
    [
        ({"budget": {"activations": "0/day"}}, "budget.activations", "expected a rate"),
        ({"budget": {"activations": "-1/day"}}, "budget.activations", "expected a rate"),
        ({"budget": {"activations": "5/year"}}, "budget.activations", "expected a rate"),
        ({"budget": {"cost": {"limit": "5.00 EUX/day"}}}, "budget.cost.limit", "unknown currency EUX"),
        ({"budget": {"cost": {"limit": "0 EUR/day"}}}, "budget.cost.limit", "above zero"),
        ({"budget": {"cost": {"limit": "5 EUR/day"}}}, "budget.cost.reserve", "declares no default in EUR"),
        (
            {"budget": {"cost": {"limit": "5 EUR/day", "reserve": "1 USD"}}},
            "budget.cost.reserve",
            "expected an amount in EUR",
        ),
        (
            {"budget": {"cost": {"limit": "5 EUR/day", "reserve": "6 EUR"}}},
            "budget.cost.reserve",
            "nothing would ever wake",
        ),
        ({"storm": {"threshold": "0/min"}}, "storm.threshold", "expected a rate"),
        ({"batch": {"window": "0s"}}, "batch.window", "longer than zero"),
        ({"batch": {"window": "5m", "max_wait": "1m"}}, "batch.max_wait", "is longer than max_wait"),
        ({"batch": {"window": "5m", "by": "data.x =="}}, "batch.by", "CEL at 1:"),
        ({"batch": {"window": "5m", "max_items": 0}}, "batch.max_items", "expected at least 1"),
        (
            {"quiet_hours": {"zone": "Mars/Base", "from": "22:00", "to": "07:00"}},
            "quiet_hours.zone",
            "expected an IANA time zone",
        ),
        (
            {"quiet_hours": {"zone": "UTC", "from": "07:00", "to": "07:00"}},
            "quiet_hours.to",
            "expected another time than from",
        ),
        ({"cooldwn": {"every": "1m"}}, "cooldwn", "unknown field"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_with_its_path(
    bench: Bench, limits: dict[str, Any], path: str, sentence: str
) -> None:
    with pytest.raises(CommandError) as refused:
        bench.simulate([EVENT], declaration(limits=limits))
    assert refused.value.exit_code == 2
    assert f"spec.limits.{path}" in refused.value.message
    assert sentence in refused.value.message


def test_two_versions_are_compared_on_the_same_events(bench: Bench, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_bytes(orjson.dumps(declaration(limits={"cooldown": {"every": "30m"}})))
    said = bench.simulate(
        [event("e-1", "12:00:00"), event("e-2", "12:01:00"), event("e-3", "12:40:00")],
        flags=(f"--diff={other}",),
    )
    delivered = {"outcome": "delivered", "guard": "delivery", "reason": "delivered"}
    assert said[0] == {
        "kind": "diff",
        "at": at("12:01:00"),
        "event": "e-2",
        "subscription": "watch",
        "before": delivered,
        "after": {"outcome": "dropped", "guard": "cooldown", "reason": "cooldown"},
    }
    assert said[1]["before"] == {"arrived": 3, "delivered": 3, "merged": 0, "messages": 3}
    assert said[1]["after"] == {
        "arrived": 3,
        "delivered": 2,
        "merged": 0,
        "dropped by cooldown": 1,
        "messages": 2,
    }
    assert len(said) == 2


def test_the_table_sums_up_what_each_event_came_to(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.simulate(
        [event(f"e-{n}", f"12:00:0{n}") for n in range(4)],
        declaration(limits={"budget": {"activations": "2/day"}}),
    )
    app = build("simulate")
    files = [
        f"--{name}={bench._folder / name}.{kind}"
        for name, kind in (("subscriptions", "yaml"), ("events", "jsonl"))
    ]
    app(["simulate", *files], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    assert "e-2 → watch: suspended (rights: budget)" in lines[2]
    assert lines[-2].split() == [
        "subscription",
        "arrived",
        "delivered",
        "merged",
        "held",
        "suspended",
        "messages",
        "suspended",
        "at",
    ]
    assert lines[-1].split() == ["watch", "4", "2", "0", "1", "1", "2", at("12:00:02")]


def test_an_end_before_the_beginning_is_refused(bench: Bench) -> None:
    with pytest.raises(CommandError, match="--to: expected an instant not earlier than 2027-01-01T00:00:00Z"):
        bench.simulate([], flags=("--from=2027-01-01T00:00:00Z", "--to=2026-01-01T00:00:00Z"))


def test_it_may_begin_with_the_calendar(bench: Bench) -> None:
    clock = declaration(source={"time": {"every": "4h"}})
    assert bench.simulate([], clock, flags=("--from=0001-01-01T00:00:00Z", "--to=0001-01-02T00:00:00Z")) == []
