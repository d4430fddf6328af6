"""What the model already knows and the product does not do yet: refused by name, never ignored."""

from collections.abc import Iterator, Mapping
from typing import Any

LATER_KINDS = frozenset({"Calendar", "Plan"})

# kind -> path below spec -> the values that are not supported yet; None: the field itself is not.
Later = Mapping[str, Mapping[tuple[str, ...], frozenset[Any] | None]]
LATER: Later = {
    "Tenant": {("plan",): None},
    "Agent": {("egress",): None},
    "Endpoint": {("sensitivity",): None, ("purpose",): None},
    "Connector": {("sensitivity",): frozenset({"confidential"})},
}


# A simulation needs no listener, gateway or worker: what has a decider is simulated.
LATER_SIMULATED: Later = {"Tenant": {("plan",): None}}


def not_yet(kind: str, spec: Any, later: Later = LATER) -> Iterator[tuple[tuple[str, ...], str]]:
    """The fields of `spec` (plain data, perhaps faulty) that are not supported yet: path and sentence."""
    for path, values in later.get(kind, {}).items():
        value = _at(spec, path)
        if value is None:
            continue
        name = ".".join(path)
        if values is None:
            yield ("spec", *path), f"not yet supported: {name}"
        elif isinstance(value, str) and value in values:
            yield ("spec", *path), f"not yet supported: {name}: {value}"


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value
