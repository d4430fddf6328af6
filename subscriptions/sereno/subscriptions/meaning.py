"""What a well-formed declaration may still not say; looked for in plain data, so that it is reported with all else."""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from sereno.envelope.types import CATALOGUE
from sereno.subscriptions import connector_meaning
from sereno.subscriptions.duration import format_duration, parse_duration
from sereno.subscriptions.event_key import compile_key
from sereno.subscriptions.expression import compile_expression
from sereno.subscriptions.models import Kind
from sereno.subscriptions.models.subscription import Delivery
from sereno.subscriptions.policy import text as policy_text
from sereno.subscriptions.policy.facts import SHIPPED
from sereno.subscriptions.recurrence.objections import objections
from sereno.subscriptions.yaml_text import Path

SHORTEST_LEASE = timedelta(seconds=1)
SHORTEST_INTERVAL = timedelta(minutes=1)
LONGEST_OFFSET = timedelta(days=366)
# Each is asked for every event of the source.
MAX_FILTERS = 200
_ORDERED: tuple[tuple[tuple[str, ...], str, str, Mapping[str, Any]], ...] = (
    (("delivery",), "lease", "max_run", Delivery().model_dump()),
    (("delivery",), "max_run", "max_age", Delivery().model_dump()),
    (("limits", "batch"), "window", "max_wait", {}),
)
_MCP_EXPRESSIONS = (("items",), ("id",), ("version",), ("time",), ("cursor", "value"), ("pages", "next"))
_PLATFORM = "sereno.platform."
_TYPE = re.compile(r"[a-z0-9._-]+")
_EMITTED = frozenset(entry.name for entry in CATALOGUE if entry.family == "platform")
# Which scheme leaves what open.
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "hmac": ("header", "prefix", "encoding", "algorithm"),
    "rfc9421": ("components", "tag"),
}

Objection = tuple[Path, str]


def of(kind: Kind, raw: Mapping[str, Any], *, simulated: bool = False) -> Iterator[Objection]:
    """The objections to a document as it was written: path and sentence.

    In a simulation the platform may emit what it does not emit yet.
    """
    if kind == "Tenant":
        yield from _tenant(raw.get("metadata"))
    elif kind == "Endpoint":
        yield from _endpoint(raw.get("spec"))
    elif kind == "Connector":
        yield from connector_meaning.of(raw.get("spec"))
    elif kind == "Subscription":
        yield from _subscription(raw.get("spec"), simulated=simulated)
    elif kind == "Policy":
        yield from _policy(raw.get("metadata"), raw.get("spec"))


def _tenant(metadata: Any) -> Iterator[Objection]:
    if isinstance(metadata, Mapping) and metadata.get("tenant") not in (None, metadata.get("name")):
        yield ("metadata", "tenant"), "expected none: metadata.name names the tenant"


def _policy(metadata: Any, spec: Any) -> Iterator[Objection]:
    if isinstance(metadata, Mapping) and metadata.get("name") == SHIPPED:
        yield ("metadata", "name"), f"expected another name: {SHIPPED} are the shipped policies"
    text = spec.get("cedar") if isinstance(spec, Mapping) else None
    for message in policy_text.objections(text) if isinstance(text, str) and text else ():
        yield ("spec", "cedar"), message


def _endpoint(spec: Any) -> Iterator[Objection]:
    if not isinstance(spec, Mapping):
        return
    scheme = spec.get("scheme")
    if scheme == "hmac" and spec.get("header") is None:
        yield ("spec", "header"), "required beside scheme: hmac, such as X-Signature-256"
    for owner, names in _OPTIONS.items():
        for name in names if scheme != owner and isinstance(scheme, str) else ():
            if spec.get(name) not in (None, [], ()):
                yield ("spec", name), f"not allowed beside scheme: {scheme}, which fixes it"
    secrets = spec.get("secrets")
    if isinstance(secrets, list) and len(secrets) != len({str(secret) for secret in secrets}):
        yield ("spec", "secrets"), "expected two different secrets"
    mapping = spec.get("mapping")
    for name, source in mapping.items() if isinstance(mapping, Mapping) else ():
        if isinstance(source, str):
            yield from _compiles(source, ("spec", "mapping", name))


def _subscription(spec: Any, *, simulated: bool) -> Iterator[Objection]:
    if not isinstance(spec, Mapping):
        return
    filters = list(_every_filter(spec.get("filters"), ("spec", "filters")))
    if len(filters) > MAX_FILTERS:
        yield ("spec", "filters"), f"expected at most {MAX_FILTERS} filters in all; found {len(filters)}"
    else:
        yield from _expressions(filters)
    yield from _time(_at(spec, "source", "time"))
    yield from _calendar(_at(spec, "source", "calendar"))
    yield from _mcp(_at(spec, "source", "mcp"))
    yield from _lease(_at(spec, "delivery", "lease"))
    yield from _platform_types(_at(spec, "source", "platform", "types"), simulated=simulated)
    yield from _keys(spec)
    yield from _order(spec)


def _keys(spec: Mapping[str, Any]) -> Iterator[Objection]:
    """Keys are expressions as filters are; a place is named by line and column inside them."""
    for path in (("limits", "batch", "by"), ("delivery", "serial_by")):
        source = _at(spec, *path)
        if isinstance(source, str) and source:
            try:
                compile_key(source)
            except ValueError as fault:
                yield ("spec", *path), str(fault)


def _platform_types(types: Any, *, simulated: bool) -> Iterator[Objection]:
    for index, name in enumerate(types if isinstance(types, list) else ()):
        path = ("spec", "source", "platform", "types", index)
        if not isinstance(name, str):
            continue
        if not name.startswith(_PLATFORM):
            yield path, f"expected a type that begins with {_PLATFORM}, such as {min(_EMITTED)}"
        elif not simulated and name not in _EMITTED and _TYPE.fullmatch(name):
            # Nothing would ever fire it, and nobody would be told.
            emitted = ", ".join(sorted(_EMITTED))
            yield path, f"not yet supported: source.platform.types: {name}; there is {emitted}"


def _every_filter(filters: Any, path: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Each filter with its path, the ones inside it too."""
    for index, one in enumerate(filters if isinstance(filters, list) else ()):
        yield from _with_inner(one, (*path, index))


def _with_inner(one: Any, path: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    if isinstance(one, Mapping):
        yield path, one
        yield from _with_inner(one.get("not"), (*path, "not"))
        yield from _every_filter(one.get("all"), (*path, "all"))
        yield from _every_filter(one.get("any"), (*path, "any"))


def _expressions(filters: list[tuple[Path, Mapping[str, Any]]]) -> Iterator[Objection]:
    for path, one in filters:
        source = one.get("cel")
        if isinstance(source, str):
            yield from _compiles(source, (*path, "cel"))


def _compiles(source: str, path: Path) -> Iterator[Objection]:
    try:
        compile_expression(source)
    except ValueError as fault:
        yield path, str(fault)


def _time(time: Any) -> Iterator[Objection]:
    if not isinstance(time, Mapping):
        return
    yield from _interval(time.get("every"))
    for path, message in objections(time):
        yield ("spec", "source", "time", *path), message


def _calendar(calendar: Any) -> Iterator[Objection]:
    chosen = _at(calendar, "select", "cel")
    if isinstance(chosen, str) and chosen:
        yield from _compiles(chosen, ("spec", "source", "calendar", "select", "cel"))
    offset = _duration(_at(calendar, "offset"))
    if offset is not None and abs(offset) > LONGEST_OFFSET:
        yield (
            ("spec", "source", "calendar", "offset"),
            f"expected at most {LONGEST_OFFSET.days} days before or after",
        )


def _mcp(mcp: Any) -> Iterator[Objection]:
    for path in _MCP_EXPRESSIONS:
        source = _at(mcp, *path)
        if isinstance(source, str) and source:
            yield from _compiles(source, ("spec", "source", "mcp", *path))


def _interval(every: Any) -> Iterator[Objection]:
    length = _duration(every)
    if length is not None and timedelta() < length < SHORTEST_INTERVAL:
        yield (
            ("spec", "source", "time", "every"),
            "expected at least 1m: nothing fires more than once a minute",
        )


def _lease(written: Any) -> Iterator[Objection]:
    length = _duration(written)
    if length is not None and timedelta() < length < SHORTEST_LEASE:
        yield ("spec", "delivery", "lease"), "expected at least 1s: a shorter lease ends before it is renewed"


def _order(spec: Mapping[str, Any]) -> Iterator[Objection]:
    """Lengths that must not be longer than another, which may have been left to its default."""
    for part, shorter, longer, defaults in _ORDERED:
        written = _at(spec, *part)
        if not isinstance(written, Mapping):
            continue
        least = _duration(written.get(shorter, defaults.get(shorter)))
        most = _duration(written.get(longer, defaults.get(longer)))
        if least is not None and most is not None and least > most:
            blamed = longer if longer in written else shorter
            yield (
                ("spec", *part, blamed),
                f"{shorter} ({format_duration(least)}) is longer than {longer} ({format_duration(most)})",
            )


def _duration(value: Any) -> timedelta | None:
    if isinstance(value, timedelta):
        return value
    try:
        return parse_duration(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _at(value: Any, *path: str) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value
