"""No more of an event is converted than an expression reads, and its answer is that of the whole event."""

from contextlib import suppress
from datetime import UTC, datetime, time, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.subscriptions.cel_reads import EVERYTHING, part_of
from sereno.subscriptions.expression import (
    Event,
    Expression,
    FilterFault,
    compile_expression,
    event_of,
    read_on_demand,
)
from sereno.subscriptions.quiet_hours import Quiet

EVENT = {
    "id": "e-1",
    "type": "com.example.made",
    "subject": None,
    "data": {
        "a": {"b": 1, "c": [1, 2, 3], "d-e": "x"},
        "list": [{"k": "v", "n": 2}, {"k": "w", "n": 3}],
        "text": "abc",
        "nothing": None,
    },
}


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("data.a.b == 1", (("data", "a", "b"),)),
        ("data.a.b == 1 && size(data.a) > 1", (("data", "a"),)),
        ("has(data.a.z) || type == 'x'", (("data", "a", "z"), ("type",))),
        ("data.list.exists(i, i.n > data.a.b)", (("data", "a", "b"), ("data", "list"))),
        ("data.list[0].k == 'v'", (("data", "list"),)),
        ("data.a['d-e'] == 'x'", (("data", "a"),)),
        ("data['a'].b == 1", (("data", "a", "b"),)),
        ("data[type] == 1", (("data",), ("type",))),
        ("true", EVERYTHING),
    ],
)
def test_what_an_expression_reads(source: str, reads: object) -> None:
    assert compile_expression(source).reads == reads


def test_a_part_holds_what_is_read_and_nothing_else() -> None:
    assert part_of(EVENT, (("data", "a", "b"), ("data", "text", "x"), ("id",), ("nope", "x"))) == {
        "data": {"a": {"b": 1}, "text": "abc"},
        "id": "e-1",
    }


_PATHS = st.sampled_from(
    [
        *("data", "data.a", "data.a.b", "data.a.c", "data.a.z", "data.list", "data.list[1].n", "data.text"),
        *("data.text.x", "data.nothing", "data['a'].b", "data.a['d-e']", "id", "type", "subject", "absent.x"),
    ]
)
_FORMS = st.sampled_from(
    [
        *("has({0})", "{0} == {1}", "{0} != {1}", "size({0}) > 1", "{0} in {1}", "'b' in {0}", "{0} > {1}"),
        *("{0}.exists(i, i == {1})", "{0}.all(i, i.n > {1})", "{0}.map(i, {1}) == [1]", "{0}[{1}] == 1"),
        *("[{0}, {1}].exists(i, i == 1)", "{{'k': {0}}}.k == {1}", "({0}) == 1 || {1} == 'abc'"),
    ]
)


@given(_FORMS, _PATHS.filter(lambda path: "." in path), _PATHS)
def test_the_answer_is_that_of_the_whole_event(form: str, one: str, other: str) -> None:
    try:
        expression = compile_expression(form.format(one, other))
    except ValueError:
        return
    assert _answer(expression, read_on_demand(EVENT)) == _answer(expression, event_of(EVENT))


def _answer(expression: Expression, event: Event) -> object:
    with suppress(FilterFault):
        return expression.value(event, absent="absent")
    return FilterFault


def test_expressions_that_read_the_same_share_one_conversion() -> None:
    event = read_on_demand(EVENT)
    assert compile_expression("data.a.b == 1").holds(event)
    assert not compile_expression("data.a.b == 2").holds(event)
    assert len(event.contexts) == 1


def test_many_different_parts_are_converted_as_a_whole() -> None:
    event = read_on_demand(EVENT)
    for source in ("data.a", "data.text", "id", "type", "data.list", "data.nothing", "data.a.b"):
        compile_expression(f"{source} == 1").holds(event)
    assert len(event.contexts) == 5


@given(
    st.lists(st.integers(0, 4 * 24 * 60), min_size=2, max_size=12),
    st.integers(0, 24 * 60 - 1),
    st.integers(0, 24 * 60 - 1),
)
def test_quiet_hours_answer_alike_whatever_was_asked_before(
    moments: list[int], start: int, minutes: int
) -> None:
    """Around the night in which the clocks of Madrid change."""
    fresh = partial(Quiet, ZoneInfo("Europe/Madrid"), _clock(start), _clock(start + minutes), "drop")
    asked = fresh()
    for moment in moments:
        at = datetime(2026, 3, 27, tzinfo=UTC) + timedelta(minutes=moment)
        assert asked.ends(at) == fresh().ends(at)


def _clock(minutes: int) -> time:
    return time(minutes // 60 % 24, minutes % 60)
