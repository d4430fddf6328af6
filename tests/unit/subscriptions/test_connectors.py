"""Connectors as they are declared, and which calls they allow."""

from typing import Any

import pytest
import yaml

from sereno.subscriptions.documents import Document, parse
from sereno.subscriptions.models import ConnectorSpec
from sereno.subscriptions.tool_access import objection, writes_by_name

ALLOWED = {"tool": "git_log", "arguments": {"type": "object", "properties": {"max": {"maximum": 5}}}}
SPEC: dict[str, Any] = {
    "owner": "user:marta",
    "purpose": "Watch commits",
    "scope": "read one repository",
    "retention": "30d",
    "control": "sereno connectors pause repo",
    "sensitivity": "internal",
    "egress": "local",
    "transport": {"stdio": {"command": ["mcp-server-git"]}},
    "allow": [ALLOWED],
}


def read(**change: Any) -> dict[str, str] | Document:
    """The faults by their path below the document, or the document."""
    spec = {name: value for name, value in {**SPEC, **change}.items() if value is not None}
    document = {"apiVersion": "sereno/v1", "kind": "Connector", "metadata": {"name": "repo"}, "spec": spec}
    found = parse(yaml.safe_dump(document))
    if isinstance(found, tuple):
        return found[0]
    return {fault.path.removeprefix("documents[0].spec."): fault.message for fault in found}


def test_a_connector_reads_with_its_limits_written_out() -> None:
    found = read()
    assert isinstance(found, Document)
    limits = found.canonical()["limits"]
    assert limits == {"time": "10s", "bytes": 1024 * 1024, "calls": "3600/hour", "in_flight": 1}


@pytest.mark.req(189)
@pytest.mark.parametrize(
    "field", ["owner", "purpose", "scope", "retention", "control", "sensitivity", "egress", "allow"]
)
def test_who_what_for_how_far_how_long_and_how_it_ends_are_required(field: str) -> None:
    assert read(**{field: None}) == {field: "required"}


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        ({"transport": {}}, "transport", "expected exactly one of stdio, http"),
        ({"transport": {"http": {"url": "https://a:b@c.example/"}}}, "transport.http.url", "without a user"),
        ({"transport": {"http": {"url": "ftp://c.example/"}}}, "transport.http.url", "such as https://"),
        ({"transport": {"stdio": {"command": []}}}, "transport.stdio.command", "at least 1"),
        (
            {"transport": {"stdio": {"command": ["x"], "credentials": {"TOKEN": "hunter2"}}}},
            "transport.stdio.credentials.TOKEN",
            "env:NAME",
        ),
        (
            {
                "transport": {
                    "stdio": {"command": ["x"], "environment": {"A": "1"}, "credentials": {"A": "env:A"}}
                }
            },
            "transport.stdio.credentials.A",
            "named in environment already",
        ),
        ({"sensitivity": "confidential"}, "sensitivity", "not yet supported"),
        ({"limits": {"calls": "5/min"}}, "limits.calls", "calls per hour"),
        ({"limits": {"time": "2m"}}, "limits.time", "at most"),
        ({"allow": [ALLOWED, ALLOWED]}, "allow[1].tool", "listed already"),
        (
            {"allow": [{"tool": "git_commit", "arguments": {"type": "object"}}]},
            "allow[0].tool",
            "access: write",
        ),
        ({"allow": [{"tool": "git_*", "arguments": {"type": "object"}}]}, "allow[0].tool", "no wildcards"),
        ({"allow": [{"tool": "a", "arguments": {"type": "array"}}]}, "allow[0].arguments", "type: object"),
        (
            {"allow": [{"tool": "a", "arguments": {"type": "object", "$ref": "https://evil.example/"}}]},
            "allow[0].arguments",
            "without references",
        ),
        ({"account": {"id": "b", "tool": "who", "is": "result.x"}}, "account.tool", "not on the allow-list"),
        (
            {"account": {"id": "b", "tool": "git_log", "arguments": {"max": 9}, "is": "result."}},
            "account.is",
            "CEL at",
        ),
    ],
)
def test_a_wrong_connector_is_refused_where_it_is_wrong(
    change: dict[str, Any], path: str, message: str
) -> None:
    found = read(**change)
    assert isinstance(found, dict)
    assert message in found[path]
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    ("tool", "word"),
    [
        ("git_log", None),
        ("git_commit", "commit"),
        ("read_file", None),
        ("write_file", "write"),
        ("createEntities", "create"),
        ("search_updates", None),
        ("delete-observations", "delete"),
        ("get-sum", None),
        ("get_current_time", None),
        ("convert_time", None),
        ("sendMail", "send"),
        ("settings", None),
    ],
)
def test_a_tool_says_by_its_first_telling_word_whether_it_changes_something(
    tool: str, word: str | None
) -> None:
    assert writes_by_name(tool) == word


def test_only_listed_tools_with_fitting_arguments_may_be_called() -> None:
    writing = {"tool": "poke", "arguments": {"type": "object"}, "access": "write"}
    spec = ConnectorSpec.model_validate({**SPEC, "allow": [ALLOWED, writing]})
    assert objection(spec, "git_log", {"max": 5}) is None
    assert "arguments.max" in (objection(spec, "git_log", {"max": 6}) or "")
    assert "not on the connector's allow-list" in (objection(spec, "git_status", {}) or "")
    assert "access: write" in (objection(spec, "poke", {}) or "")
