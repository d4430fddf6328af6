"""Which tools may be called to observe, and with which arguments: what a person listed, never what a server says of itself."""

import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from sereno.subscriptions.models.connector import ConnectorSpec

# The words stand on a few lines so that they can be read.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_READING = frozenset(
    re.findall(
        r"[a-z]+",
        "check compare convert count describe diff echo fetch find get inspect list log look lookup open peek "
        "preview query read scan search show status tail tree view watch whoami",
    )
)
_LONGEST_REASON = 200
_WRITING = frozenset(
    re.findall(
        r"[a-z]+",
        "abort add append apply approve archive assign book cancel change charge checkout clear close commit configure "
        "copy create delete deploy destroy disable drop edit enable execute exec grant insert invite invoke kill merge "
        "modify move mutate patch pay post publish purge push put remove rename replace reply reset restart restore "
        "revert revoke run save send set start stop store submit transfer trigger truncate unarchive uninstall update "
        "upload upsert wipe write",
    )
)


def writes_by_name(tool: str) -> str | None:
    """The word by which a tool says that it changes something; the first that says either way decides."""
    for word in map(str.lower, _WORD.findall(tool)):
        if word in _READING:
            return None
        if word in _WRITING:
            return word
    return None


def objection(connector: ConnectorSpec, tool: str, arguments: Mapping[str, Any]) -> str | None:
    """Why this call is not one that the connector allows for observing; None when it is."""
    entry = connector.allowed(tool)
    if entry is None:
        listed = ", ".join(one.tool for one in connector.allow)
        return f"the tool {tool} is not on the connector's allow-list; there is {listed}"
    if entry.access == "write":
        return f"the tool {tool} is declared with access: write, and a source only reads"
    word = writes_by_name(tool)
    if word is not None:
        return f"the tool {tool} says by its name that it changes something ({word}), and a source only reads"
    return argument_objection(entry.arguments, arguments)


def argument_objection(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """What is wrong with arguments by the schema of an allow-list; the first fault, named by its place."""
    for fault in _validator(schema).iter_errors(dict(arguments)):
        place = ".".join(map(str, fault.absolute_path))
        return f"arguments{'.' + place if place else ''}: {_cut(fault.message)}"
    return None


def schema_objection(schema: Any) -> str | None:
    """Why this is no schema of arguments; None when it is one."""
    if not isinstance(schema, Mapping):
        return "expected a JSON Schema, such as {type: object}"
    if schema.get("type") != "object":
        return "expected a JSON Schema with type: object, since arguments are named"
    if any(True for _ in _outside(schema)):
        return "expected a JSON Schema without references to other documents"
    try:
        _library().Draft202012Validator.check_schema(dict(schema))
    except _library().exceptions.SchemaError as fault:
        return f"expected a JSON Schema (2020-12): {_cut(fault.message)}"
    return None


def _outside(value: Any) -> Any:
    """References that lead out of the schema."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name in {"$ref", "$dynamicRef", "$recursiveRef"} and not str(inner).startswith("#"):
                yield inner
            yield from _outside(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _outside(inner)


def _validator(schema: Mapping[str, Any]) -> Any:
    # An empty registry: nothing is ever fetched for a schema.
    registry = import_module("referencing").Registry()
    return _library().Draft202012Validator(dict(schema), registry=registry)


@cache
def _library() -> Any:
    """The package jsonschema, loaded with the first schema: commands that need none start without it."""
    return import_module("jsonschema")


def _cut(message: str) -> str:
    return message if len(message) <= _LONGEST_REASON else message[:_LONGEST_REASON] + "…"
