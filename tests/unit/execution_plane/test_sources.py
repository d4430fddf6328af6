"""What is read in an answer, what of it is news, and how far a source is read (pure)."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.envelope.encode import dumps_batch
from sereno.execution_plane.evaluator.item import item_of
from sereno.execution_plane.listeners.mcp.answer import Answer, records
from sereno.execution_plane.listeners.mcp.definitions import Definition, check
from sereno.execution_plane.listeners.mcp.extraction import (
    Found,
    Observed,
    UnreadableError,
    extract,
    items_of,
    moment_of,
    projected,
)
from sereno.execution_plane.listeners.mcp.novelty import Memory, news
from sereno.execution_plane.listeners.mcp.progress import Progress
from sereno.execution_plane.listeners.mcp.signal import Origin, View, of_item
from sereno.subscriptions import observation
from sereno.subscriptions.models import ConnectorSpec
from sereno.subscriptions.models.source import McpSource
from tests.connectors import spec
from tests.passages import NOON, receiptid

LOG = """Commit history:
Commit: aa
Author: marta
Message: One
Commit: not one

Fixes: 7
Author: nobody
Commit: bb
Author: luis
Message: Two
"""


def source(**more: Any) -> McpSource:
    written = {"connector": "c", "tool": "t", "every": "1m", "items": "result.items", "id": "item.id", **more}
    return McpSource.model_validate(written)


def test_records_begin_where_the_names_begin_again_and_nowhere_inside_a_value() -> None:
    first, second = records(LOG.splitlines())
    assert (first["commit"], second["commit"]) == ("aa", "bb")
    assert first["message"] == "One\nCommit: not one"
    assert (first["author"].splitlines()[0], first["fixes"]) == ("marta", "7\nAuthor: nobody")
    assert second == {"commit": "bb", "author": "luis", "message": "Two"}


def test_an_answer_is_read_as_structure_text_lines_and_records() -> None:
    assert Answer("plain", {"a": 1}).variables["result"] == {"a": 1}
    assert Answer('[{"a": 1}]').variables["result"] == [{"a": 1}]
    assert Answer("no json").variables == {
        "result": {},
        "text": "no json",
        "lines": ["no json"],
        "records": [],
    }


@pytest.mark.parametrize(
    ("expression", "found"),
    [("result.items", ["x"]), ("result.items.filter(i, i == 'x')", ["x"]), ("[result.items[0]]", ["x"])],
)
def test_items_are_what_their_expression_names(expression: str, found: list[str]) -> None:
    assert items_of({"result": {"items": ["x"]}}, source(items=expression)) == found


@pytest.mark.parametrize("answer", [{}, {"items": None}, {"items": {"a": 1}}, {"items": "text"}])
def test_an_answer_without_a_list_of_items_is_a_fault_and_not_nothing(answer: dict[str, Any]) -> None:
    with pytest.raises(UnreadableError, match="expected a list"):
        items_of({"result": answer}, source())


def test_an_item_without_identity_is_unfinished() -> None:
    items = [{"id": 1, "v": "a"}, {"id": None}, {"id": {"x": 1}}, {"id": True}, {"id": "x", "v": {"b": [1]}}]
    observed = extract(items, source(version="item.v"))
    assert [(one.id, one.version[:7]) for one in observed.items] == [("1", "a"), ("x", "sha256:")]
    assert len(observed.unfinished) == 3


def test_only_named_fields_are_kept() -> None:
    item = {"a": {"b": 1, "c": 2}, "d": 3}
    assert projected(item, ()) == item
    assert projected(item, ("a.b", "x.y")) == {"a": {"b": 1}}
    assert projected("text", ("a",)) == {}


def test_a_time_without_a_zone_is_none() -> None:
    assert moment_of({"t": "2026-01-01 10:00:00"}, "item.t") is None
    assert str(moment_of({"t": "2026-01-01 10:00:00+02:00"}, "item.t")) == "2026-01-01 08:00:00+00:00"
    assert moment_of({"t": 1767254400}, "item.t") == moment_of({"t": 1767254400000}, "item.t")


def found(name: str, version: str = "", mark: int | None = None) -> Found:
    return Found(name, version, {}, mark)


def test_a_first_look_tells_of_the_newest_alone_and_later_ones_of_what_is_not_known() -> None:
    items = [found("a"), found("b"), found("b", "2"), found("c")]
    seeding = news(items, Memory({}, seeded=False, backfill=1), list(reversed(items)))
    assert [one.id for one in seeding.remember] == ["a", "b", "c"]
    assert [one.id for one in seeding.tell] == ["c"]
    known = {one.key: one.state for one in seeding.remember}
    assert news(items, Memory(known, seeded=True), items).tell == []
    assert [one.version for one in news([found("b", "3")], Memory(known, seeded=True), []).tell] == ["3"]


pages = st.lists(
    st.tuples(
        st.lists(st.integers(0, 9), max_size=4), st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=2)
    ),
    min_size=1,
    max_size=5,
)


@given(pages)
def test_a_mark_never_passes_an_unfinished_item_nor_the_end_of_the_pages(parts: list[Any]) -> None:
    progress = Progress(3)
    for place, (marks, unfinished) in enumerate(parts):
        observed = Observed([found("x", mark=mark) for mark in marks], [("why", mark) for mark in unfinished])
        last = place == len(parts) - 1
        progress = Progress.of(progress.after([observed], None if last else place).as_json())
        if not last:
            assert progress.mark == 3
    open_marks = [mark for _, unfinished in parts for mark in unfinished]
    assert progress.page is None
    assert progress.mark is not None
    if None in open_marks:
        assert progress.mark == 3
    else:
        assert progress.mark == 3 or all(progress.mark < mark for mark in open_marks)
    if not open_marks:
        assert progress.mark == max([3, *(mark for marks, _ in parts for mark in marks)])


def test_definitions_are_held_against_what_is_declared_before_what_was_met_first() -> None:
    met = {"a": Definition("a", {"name": "a", "_meta": {"x": 1}}), "b": Definition("b", {"name": "b"})}
    connector = ConnectorSpec.model_validate(spec(["x"], "a", "b", "c"))
    first = check(connector, {}, met)
    assert ([one.tool for one in first.fresh], first.changes) == (["a", "b"], [])
    pinned = {one.tool: one.sha256 for one in first.fresh}
    changed = {**met, "a": Definition("a", {"name": "a", "description": "other"})}
    assert [str(one)[:34] for one in check(connector, pinned, changed).changes] == [
        "the definition of the tool a change"[:34]
    ]
    assert (
        check(connector, pinned, {**met, "a": Definition("a", {"name": "a", "_meta": {"x": 2}})}).changes
        == []
    )
    assert "no tool b any more" in str(check(connector, pinned, {"a": met["a"]}).changes[0])
    allow = [{"tool": "a", "arguments": {"type": "object"}, "sha256": "0" * 64}]
    declared = ConnectorSpec.model_validate(spec(["x"], allow=allow))
    assert [one.tool for one in check(declared, pinned, met).changes] == ["a"]


def test_what_is_shared_is_what_is_asked_alike() -> None:
    one = source()

    def alike(other: McpSource, of: Any, **who: str) -> bool:
        mine = {"account": "a", "subscription": "s"}
        same: bool = of(one, **mine) == of(other, **(mine | {"subscription": "t"} | who))
        return same

    assert alike(source(every="9m", project=["id"]), observation.operation)
    assert alike(source(every="9m", project=["id"]), observation.reading)
    assert not alike(one, observation.operation, account="b")
    assert not alike(source(arguments={"x": 1}), observation.operation)
    assert alike(source(version="item.v"), observation.operation)
    assert not alike(source(version="item.v"), observation.reading)
    assert alike(source(first={"backfill": 2}), observation.operation)
    assert not alike(source(first={"backfill": 2}), observation.reading)
    assert observation.view(one, subscription="s") == observation.view(one, subscription="t")
    assert observation.view(one, subscription="s") != observation.view(
        source(project=["id"]), subscription="s"
    )


@pytest.mark.parametrize(("egress", "sensitivity"), [("local", "confidential"), ("remote", "internal")])
def test_what_may_not_leave_the_machine_is_judged_by_local_models_alone(
    egress: Any, sensitivity: str
) -> None:
    origin = Origin("acme", "c", "t", "call", "internal", egress)
    signal = of_item(found("a"), View("v"), origin, receiptid(1), NOON)
    assert signal is not None
    assert item_of("a", orjson.loads(dumps_batch([signal]))[0]).sensitivity == sensitivity


def test_an_item_larger_than_an_event_may_be_is_no_signal() -> None:
    origin = Origin("acme", "c", "t", "call", "internal", "local")
    large = Found("a", "", {"text": "x" * 70_000, "id": "a"})
    assert of_item(large, View("v"), origin, receiptid(1), NOON) is None
    assert of_item(large, View("v", project=("id",)), origin, receiptid(1), NOON) is not None
