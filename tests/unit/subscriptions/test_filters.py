"""Filters: the dialects of the CloudEvents Subscriptions API, and CEL within bounds."""

import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sereno.subscriptions.expression import MAX_NODES, compile_expression, event_of
from sereno.subscriptions.filters import Attributes, FilterFault, compile_filters
from sereno.subscriptions.models import Filter

EVENT = {
    "id": "1",
    "type": "com.zendesk.ticket.opened",
    "source": "/zendesk",
    "hops": 2,
    "urgent": True,
    "data": {
        "priority": "high",
        "tags": ["refund", "vip"],
        "amount": 12.5,
        "count": 3,
        "user": {"name": "Ana"},
    },
}


def holds(*filters: dict[str, Any], event: dict[str, Any] = EVENT) -> bool:
    return compile_filters([Filter.model_validate(one) for one in filters])(event)


def cel_holds(source: str, **data: Any) -> bool:
    return compile_expression(source).holds(event_of({**EVENT, "data": data} if data else EVENT))


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        ({"exact": {"type": "com.zendesk.ticket.opened"}}, True),
        ({"exact": {"type": "com.zendesk.ticket"}}, False),
        ({"exact": {"type": "com.zendesk.ticket.opened", "source": "/other"}}, False),
        ({"exact": {"hops": "2", "urgent": "true"}}, True),
        ({"exact": {"subject": "x"}}, False),
        ({"prefix": {"type": "com.zendesk."}}, True),
        ({"prefix": {"type": "org."}}, False),
        ({"suffix": {"type": ".opened"}}, True),
        ({"not": {"suffix": {"type": ".opened"}}}, False),
        ({"not": {"exact": {"subject": "x"}}}, True),
        ({"all": [{"prefix": {"type": "com."}}, {"suffix": {"type": ".opened"}}]}, True),
        ({"all": [{"prefix": {"type": "com."}}, {"suffix": {"type": ".closed"}}]}, False),
        ({"any": [{"prefix": {"type": "org."}}, {"suffix": {"type": ".opened"}}]}, True),
        ({"any": [{"prefix": {"type": "org."}}, {"not": {"prefix": {"type": "com."}}}]}, False),
        ({"cel": 'data.priority in ["high", "urgent"]'}, True),
        ({"not": {"cel": "data.priority == 'high'"}}, False),
    ],
)
def test_dialects(one: dict[str, Any], expected: bool) -> None:
    assert holds(one) is expected


@pytest.mark.parametrize("dialect", ["exact", "prefix", "suffix"])
@pytest.mark.parametrize("argument", [{}, {"": "x"}, {"type": ""}, {"data": "x"}, {"type": 1}])
def test_an_attribute_filter_names_attributes_and_texts(dialect: str, argument: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Filter.model_validate({dialect: argument})


@pytest.mark.parametrize(
    "one", [{"all": []}, {"any": []}, {"sql": "type = 'x'"}, {}, {"exact": {"type": "x"}, "cel": "true"}]
)
def test_a_filter_is_one_dialect_that_is_known_and_not_empty(one: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Filter.model_validate(one)


def test_all_filters_must_hold_and_none_hold_always() -> None:
    assert holds()
    assert holds({"prefix": {"type": "com."}}, {"cel": "data.count > 2"})
    assert not holds({"prefix": {"type": "com."}}, {"cel": "data.count > 3"})


@given(st.text(min_size=1, max_size=30), st.text(max_size=10), st.text(max_size=10))
def test_text_dialects_mean_what_pythons_strings_mean(value: str, start: str, end: str) -> None:
    event = {"subject": value}
    assert holds({"exact": {"subject": value}}, event=event)
    if start:
        assert holds({"prefix": {"subject": start}}, event=event) is value.startswith(start)
    if end:
        assert holds({"suffix": {"subject": end}}, event=event) is value.endswith(end)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("data.tags.exists(t, t == 'refund')", True),
        ('["vip", "gold"].exists(t, t in data.tags)', True),
        ("data.tags.filter(t, t != 'vip').map(t, size(t)).all(n, n == 6)", True),
        ("data['user']['name'].startsWith('A')", True),
        ("type.endsWith('.opened') && hops < 3", True),
        ("has(data.user.mail)", False),
        ("data.nothing == 1", False),
        ("subject == 'x'", False),
        ("!(data.nothing == 1)", False),
        ("data.user.name.matches('^[A-Z][a-z]{2,20}$')", True),
        ("timestamp('2026-01-01T00:00:00Z') < timestamp('2027-01-01T00:00:00Z')", True),
        ("data.count + 1 > 3 // a comment", True),
    ],
)
def test_expressions(source: str, expected: bool) -> None:
    assert cel_holds(source) is expected


@pytest.mark.parametrize("data", [None, {}])
def test_an_event_without_data_has_no_fields(data: object) -> None:
    assert not compile_expression("data.x == 1").holds(event_of({"id": "1", "data": data}))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("data.count > 'a'", "No such overload"),
        ("data.count", "expected true or false; found int"),
        ("data.count / 0 == 1", "division by zero"),
        ("data.user.name.x == 1", "No such overload"),
    ],
)
def test_what_cannot_be_evaluated_is_a_fault_that_names_the_filter(source: str, message: str) -> None:
    with pytest.raises(FilterFault) as fault:
        cel_holds(source)
    assert source in str(fault.value)
    assert message in str(fault.value)


def test_an_event_that_cel_cannot_hold_is_a_fault() -> None:
    with pytest.raises(FilterFault, match="cannot read the event"):
        holds({"cel": "true"}, event={"data": {"x": "\ud800"}})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "expected a CEL expression"),
        ("data.x ==", "CEL at 1:10: mismatched input '<EOF>'"),
        ("data.x == 1 &&\n  data.y ==", "CEL at 2:12"),
        ("data.x == 'a", "CEL at 1:11"),
        ("x" * 1_001, "expected at most 1,000 characters of CEL; found 1,001"),
        (
            " && ".join(["data.x > 1"] * 30),
            f"expected at most {MAX_NODES} names, values and operators in CEL",
        ),
        ("(" * 400 + "true" + ")" * 400, "CEL at 1:"),
        ("foo(data.x)", "CEL at 1:1: unknown function foo"),
        ("data.x.sum() > 1", "CEL at 1:8: unknown function sum"),
        ("data.a.all(x, data.b.all(y, x == y))", "CEL at 1:22: all inside another comprehension"),
        ("data.a.map(x, [1].filter(y, true)) == []", "CEL at 1:19: filter inside another comprehension"),
        ("data.a.all(i, v, v)", "unknown function all"),
        (
            "(data.a + data.b).all(x, x > 1)",
            "CEL at 1:19: expected a path such as data.items, or a list, before .all",
        ),
        ("string(data.a).all(x, true)", "expected a path such as data.items"),
        ("data.a.all(x, x.matches('a'))", "CEL at 1:17: matches inside a comprehension"),
        ("data.a.matches(data.b)", "CEL at 1:8: expected value.matches('PATTERN')"),
        ("matches(data.a, 'b')", "expected value.matches('PATTERN')"),
        ("data.a.matches('(')", "CEL at 1:16: expected a regular expression"),
        (f"data.a.matches('{'a' * 200}')", "at most 200 characters"),
        ("data.a.matches('(a{1,100}){1,100}')", "repetitions that multiply to at most 100"),
        ("data.a.matches('a{101}')", "repetitions that multiply to at most 100"),
        ("data.a.matches('a{101,}')", "repetitions that multiply to at most 100"),
        (r"data.a.matches('a\x7b101}')", "repetitions that multiply to at most 100"),
        ("data.a.matches(b'a')", "expected the pattern as text"),
        ("data.a.matches('a{50}') || data.a.matches('b{50}')", "in all patterns"),
    ],
)
def test_what_could_not_be_bounded_is_refused_with_its_place(source: str, message: str) -> None:
    with pytest.raises(ValueError) as fault:
        compile_expression(source)
    assert message in str(fault.value)


MANY = list(range(1_000))
HEAVY = {"l": MANY, "m": [{"i": i, "s": "x" * 40} for i in MANY], "s": "a" * 60_000}


@pytest.mark.parametrize(
    "source",
    [
        "data.l.all(x, x in data.l)",
        "data.l.all(x, data.m == data.m)",
        "data.l.all(x, size(data.s + data.s) > 0)",
        f"data.l.all(x, size({' + '.join(['data.m'] * 20)}) > 0)",
        f"size({' + '.join(['data.m'] * 30)}) > 0",
        "data.l.map(x, data.m).all(y, y == data.m)",
        "data.l.map(x, x).map(x, x).map(x, x).all(x, true)",
        "[data.m, data.m].all(x, x == data.m && x == data.m) && data.l.all(x, x in data.l)",
    ],
)
def test_what_would_run_long_on_an_event_is_a_fault_before_it_runs(source: str) -> None:
    expression, event = compile_expression(source), event_of({"data": HEAVY})
    started = time.process_time()
    with pytest.raises(FilterFault, match="steps on this event; at most 1,000,000"):
        expression.holds(event)
    assert time.process_time() - started < 1


def test_a_comprehension_goes_over_at_most_a_thousand_items() -> None:
    assert cel_holds("data.l.all(x, x >= 0)", l=MANY)
    assert cel_holds("size(data.l) == 1001", l=[*MANY, 1])
    for source in ("data.l.all(x, x >= 0)", "data['l'].exists(x, x == 1)", "data.all(k, k != '')"):
        with pytest.raises(FilterFault, match="over 1,001 items; at most 1,000"):
            cel_holds(
                source,
                **(dict.fromkeys(map(str, range(1_001)), 1) if "data.all" in source else {"l": [*MANY, 1]}),
            )


def test_one_conversion_serves_all_filters_of_an_event() -> None:
    event = Attributes(EVENT)
    first = event.event
    predicate = compile_filters([Filter.model_validate({"cel": "data.count == 3"})] * 2)
    assert predicate(event)
    assert event.event is first


@given(st.text(alphabet="data.xy()[]{}'\"&|!=<>+-*/ 0123\\\nallmapexistsmatches", max_size=60))
def test_any_expression_compiles_or_is_refused(source: str) -> None:
    try:
        expression = compile_expression(source)
    except ValueError:
        return
    with suppress(FilterFault):
        assert expression.holds(event_of(EVENT)) in (True, False)


@pytest.mark.parametrize(
    "source", ["'5'", "5", "'a' + 'b'", "null", "size('abc')", "[1, 2]", "1 / 0 == 1", "{'a': true}"]
)
def test_an_expression_that_is_no_condition_for_any_event_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match="for every event"):
        compile_filters([Filter.model_validate({"cel": source})])


@pytest.mark.parametrize("source", ["true", "1 < 2", "[1, 2].exists(n, n == 2)", "data == {}", "'5' == id"])
def test_a_condition_may_be_constant(source: str) -> None:
    compile_filters([Filter.model_validate({"cel": source})])
