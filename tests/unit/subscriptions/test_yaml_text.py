"""The reader of YAML: plain text stays text, and nothing grows, hides or breaks."""

import time
from typing import Any

import pytest

from sereno.subscriptions.yaml_text import MAX_DEPTH, read


def value(text: str) -> Any:
    (tree,), faults = read(text)
    assert (tree.faults, faults) == ((), [])
    return tree.value


def only_fault(text: str | bytes) -> str:
    trees, faults = read(text)
    found = [fault.message for fault in faults] + [message for tree in trees for _, message, _ in tree.faults]
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("22:00", "22:00"),
        ("1:30:00", "1:30:00"),
        ("on", "on"),
        ("no", "no"),
        ("y", "y"),
        ("2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        ("2027-01-01", "2027-01-01"),
        ("0o17", "0o17"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("010", 10),
        ("-3", -3),
        ("0.7", 0.7),
        ("1e3", 1000.0),
        ("true", True),
        ("null", None),
        ("~", None),
        ('"5"', "5"),
        ("!!str 5", "5"),
        ("'true'", "true"),
        (".inf", ".inf"),
    ],
)
def test_plain_values_follow_yaml_1_2_and_never_surprise(written: str, meant: object) -> None:
    read_back = value(f"a: {written}")["a"]
    assert (read_back, type(read_back)) == (meant, type(meant))


def test_keys_are_text() -> None:
    assert value("on: 1\n1: 2\nnull: 3\n") == {"on": 1, "1": 2, "null": 3}


def test_aliases_are_followed() -> None:
    assert value("a: &x {b: [1, 2]}\nc: *x\nd: [*x, *x]") == {
        "a": {"b": [1, 2]},
        "c": {"b": [1, 2]},
        "d": [{"b": [1, 2]}, {"b": [1, 2]}],
    }


def test_every_field_knows_its_line() -> None:
    (tree,), _ = read("# first\na:\n  b: [1,\n    2]\n")
    assert [tree.line(path) for path in [(), ("a",), ("a", "b"), ("a", "b", 1), ("a", "x")]] == [
        2,
        2,
        3,
        4,
        2,
    ]


def test_lines_go_on_over_documents() -> None:
    trees, _ = read("a: 1\n---\n\nb: 2\n---\nc: [\n")
    assert [tree.line(("b",)) for tree in trees] == [1, 4, 7]
    assert trees[2].broken


def test_separators_stand_only_at_the_start_of_a_line() -> None:
    (tree,), _ = read("a: |\n  one\n   ---\n  --- two\n")
    assert tree.value == {"a": "one\n ---\n--- two\n"}
    assert [tree.value for tree in read("%YAML 1.2\n---\na: 1\n...\n---\n# none\n---\nb: 2\n")[0]] == [
        {"a": 1},
        {"b": 2},
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "given twice; first on line 1"),
        ("a: &a [*a]", "the alias *a names no finished value above it"),
        ("a: *nothing", "the alias *nothing names no finished value above it"),
        ("[" * (MAX_DEPTH + 1), f"expected at most {MAX_DEPTH} levels"),
        ("a: !!python/object/apply:os.system [ls]", "YAML tags are not accepted"),
        ("a: !secret x", "YAML tags are not accepted"),
        ("a: !!int 5", "YAML tags are not accepted"),
        ("? [a]\n: b", "expected a text as key of a mapping"),
        ("? {a: b}\n: c", "expected a text as key of a mapping"),
        ("a: {<<: {b: 1}}", "merge keys (<<) are not accepted"),
        ("a: 'x", "not readable as YAML"),
        ("\ta: 1", "not readable as YAML"),
        ("a: b: c", "not readable as YAML"),
        ('a: "\\0"', "NUL"),
        ("a: 9007199254740992", "expected a number between"),
        ("a: 1e999", "expected a number between"),
        ("a: \x07", "U+0007"),
        ("a: \ud800", "U+D800"),
        (b"a: 1\nb: \xff\n", "expected UTF-8 text; byte 8 is not"),
        (b"\xff\xfea\x00", "expected UTF-8 text"),
        ("a: " + "x" * 2_000_001, "expected at most 2,000,000 characters"),
        ("---\na\n" * 10_001, "expected at most 10,000 documents"),
    ],
)
def test_what_is_not_accepted_is_said_once(text: str | bytes, message: str) -> None:
    assert message in only_fault(text)


def test_few_lines_never_grow_without_bound() -> None:
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 12)]
    started = time.process_time()
    assert "aliases followed" in only_fault("\n".join(lines))
    assert time.process_time() - started < 2


@pytest.mark.parametrize("text", ["中文\uff0c测试\uff01", "\uff41\uff9e\ufffc", "\ufb01 \ue000", "😀"])
def test_text_of_any_script_is_text(text: str) -> None:
    assert value(f"a: {text}") == {"a": text}
    assert value(f'a: "{text}"') == {"a": text}


def test_a_byte_order_mark_is_no_text() -> None:
    assert value("\ufeffa: 1") == {"a": 1}
    assert read("\ufeffa: 1".encode())[0][0].value == {"a": 1}
