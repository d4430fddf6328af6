"""What holds of every simulation: it says the same again, and it loses and doubles nothing."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulating import Lines, claim, do, event, of_kind, simulate, watch

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["event", "event", "event", "again", "claim", "ack", "pause", "resume", "stop", "release"]
        ),
        st.integers(0, 400),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=25,
)
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "cooldown": st.sampled_from([{"every": "2m"}, {"every": "5m", "then": "batch"}]),
        "batch": st.sampled_from([{"window": "1m", "max_items": 3}, {"window": "2m", "by": "data.key"}]),
        "budget": st.sampled_from([{"activations": "5/hour"}, {"activations": "3/min"}]),
        "storm": st.just({"threshold": "4/min"}),
        "when_busy": st.sampled_from(["queue", "drop", "merge"]),
    },
)


def lines_of(steps: list[tuple[str, int, int]]) -> Lines:
    clock, lines, names = 0, [], 0
    paused = stopped = False
    for what, seconds, which in steps:
        clock += seconds
        now = f"{12 + clock // 3600:02}:{clock // 60 % 60:02}:{clock % 60:02}"
        if what in ("event", "again"):
            names += what == "event"
            lines.append(event(f"e{names}", now, data={"key": str(which)}))
        elif what == "claim":
            lines.append(claim(now, 1 + which))
        elif what == "ack":
            lines.append(do(now, "ack", lease=f"L{1 + which}"))
        elif what == "pause" and not paused:
            paused = True
            lines.append(do(now, "pause", subscription="watch"))
        elif what == "resume" and paused:
            paused = False
            lines.append(do(now, "resume", subscription="watch", held="deliver"))
        elif what in ("stop", "release") and stopped is (what == "release"):
            stopped = what == "stop"
            lines.append(do(now, what))
    return lines


@settings(deadline=None, max_examples=25)
@given(STEPS, LIMITS)
def test_the_same_lines_say_the_same_again(steps: list[tuple[str, int, int]], limits: dict[str, Any]) -> None:
    subscription = watch(limits=limits)
    assert simulate(lines_of(steps), subscription) == simulate(lines_of(steps), subscription)


@settings(deadline=None, max_examples=25)
@given(STEPS, LIMITS)
def test_no_event_is_in_two_messages_and_a_flush_holds_what_was_merged(
    steps: list[tuple[str, int, int]], limits: dict[str, Any]
) -> None:
    said = simulate(lines_of(steps), watch(limits=limits))
    merged: dict[str, list[str]] = {}
    woken: list[str] = []
    for line in said:
        if line["kind"] == "decision" and line["outcome"] == "merged":
            merged.setdefault(line["batch"], []).append(line["event"])
        elif line["kind"] == "decision" and line["outcome"] == "delivered":
            woken.append(line["event"])
        elif line["kind"] == "flush":
            assert line["events"] == merged.pop(line["batch"])
            woken += line["events"]
    assert len(woken) == len(set(woken))
    messages = [line["message"] for line in said if line.get("message")]
    deposited = [
        m
        for m, line in zip(messages, (x for x in said if x.get("message")), strict=True)
        if line["kind"] == "flush" or line["outcome"] == "delivered"
    ]
    assert deposited == [f"M{n}" for n in range(1, len(deposited) + 1)]
    assert {lease for line in of_kind(said, "claim") for lease in line["messages"]} <= set(deposited)


_COPIES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans()), min_size=2, max_size=14)


@settings(deadline=None, max_examples=40)
@given(_COPIES, LIMITS, st.randoms(use_true_random=False))
def test_in_whatever_order_duplicates_come_an_occurrence_is_in_one_message(
    copies: list[tuple[int, int, bool]], limits: dict[str, Any], random: Any
) -> None:
    """Each copy has a receipt and perhaps a body of its own; what makes it the same occurrence is its key."""
    random.shuffle(copies)
    lines = [
        event(
            f"copy-{number}",
            f"12:{place:02}:{place * 7 % 60:02}",
            receiptid=f"r{place}",
            dedupkey=f"key-{number}",
            subject=f"s{which}",
            data={"key": str(which)},
            **({"actor": "bot"} if acted else {}),
        )
        for place, (number, which, acted) in enumerate(copies)
    ]
    # What a person lets go again was one of the copies; it is still one occurrence.
    lines.append(do("13:00:00", "stop"))
    lines.append(do("13:00:01", "release"))
    said = simulate([*lines, do("23:00:00", "advance")], watch("a", limits=limits), watch("b"))
    for name in ("a", "b"):
        woken = [
            one
            for line in said
            if line.get("subscription") == name
            for one in (
                line["events"]
                if line["kind"] == "flush"
                else [line["event"]]
                if line["kind"] == "decision" and line["outcome"] == "delivered"
                else []
            )
        ]
        assert len(woken) == len(set(woken))
