"""What a well-formed connector may still not say."""

from collections.abc import Iterator, Mapping
from typing import Any

from sereno.subscriptions.expression import compile_expression
from sereno.subscriptions.tool_access import argument_objection, schema_objection, writes_by_name
from sereno.subscriptions.yaml_text import Path

Objection = tuple[Path, str]
_SEALED = "sealed:"


def of(spec: Any) -> Iterator[Objection]:
    """The objections to a connector as it was written: path and sentence."""
    if not isinstance(spec, Mapping):
        return
    yield from _credentials(spec.get("transport"))
    allowed = spec.get("allow")
    entries = [entry for entry in allowed if isinstance(entry, Mapping)] if isinstance(allowed, list) else []
    yield from _tools(entries)
    yield from _account(spec.get("account"), entries)


def _credentials(transport: Any) -> Iterator[Objection]:
    for way in ("stdio", "http"):
        server = transport.get(way) if isinstance(transport, Mapping) else None
        if not isinstance(server, Mapping):
            continue
        credentials, plain = server.get("credentials"), server.get("environment")
        for name, reference in credentials.items() if isinstance(credentials, Mapping) else ():
            path = ("spec", "transport", way, "credentials", str(name))
            if isinstance(reference, str) and reference.startswith(_SEALED):
                yield path, "expected env:NAME or file:/absolute/path, read where the listeners run"
            if isinstance(plain, Mapping) and name in plain:
                yield path, "named in environment already"


def _tools(entries: list[Mapping[str, Any]]) -> Iterator[Objection]:
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        tool, path = entry.get("tool"), ("spec", "allow", index)
        if not isinstance(tool, str):
            continue
        if tool in seen:
            yield (*path, "tool"), f"{tool} is listed already"
        seen.add(tool)
        word = writes_by_name(tool)
        if word is not None and entry.get("access") != "write":
            yield (
                (*path, "tool"),
                f"its name says that it changes something ({word}): declare access: write; a source reads only",
            )
        if entry.get("arguments") is not None:
            found = schema_objection(entry["arguments"])
            if found is not None:
                yield (*path, "arguments"), found


def _account(account: Any, entries: list[Mapping[str, Any]]) -> Iterator[Objection]:
    if not isinstance(account, Mapping):
        return
    expression = account.get("is")
    if isinstance(expression, str) and expression:
        try:
            compile_expression(expression)
        except ValueError as fault:
            yield ("spec", "account", "is"), str(fault)
    tool = account.get("tool")
    entry = next((one for one in entries if one.get("tool") == tool), None)
    if isinstance(tool, str) and entry is None:
        yield ("spec", "account", "tool"), f"{tool} is not on the allow-list"
    elif entry is not None and schema_objection(entry.get("arguments")) is None:
        given = account.get("arguments", {})
        found = argument_objection(entry["arguments"], given) if isinstance(given, Mapping) else None
        if found is not None:
            yield ("spec", "account", "arguments"), found
