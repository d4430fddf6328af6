"""Reads declared documents: all of them, or every fault of every one of them."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from sereno.subscriptions import filters, supported, yaml_text
from sereno.subscriptions.faults import Fault, Faults
from sereno.subscriptions.models import Metadata, Spec, SubscriptionSpec, type_of_kind
from sereno.subscriptions.yaml_text import Tree, path_text

API_VERSION = "sereno/v1"
SHORTEST_INTERVAL = timedelta(minutes=1)
_TOP = ("apiVersion", "kind", "metadata", "spec")

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """One declared object, read without fault; `index` counts the documents of its text from 0."""

    kind: str
    metadata: Metadata
    spec: Spec
    index: int
    lines: Mapping[Path, int] = field(default_factory=dict, repr=False, compare=False)

    @property
    def tenant(self) -> str:
        """The tenant to whom the object belongs; a Tenant belongs to itself."""
        return self.metadata.name if self.kind == "Tenant" else self.metadata.tenant

    def path(self, *steps: str | int) -> str:
        """The path of a field of this document, as faults name it."""
        return path_text(self.index, steps)

    def fault(self, message: str, *steps: str | int) -> Fault:
        """A fault of this document at a field, with its line: for who knows more than the text says."""
        return Fault(self.path(*steps), message, Tree(None, dict(self.lines)).line(steps))

    def canonical(self) -> dict[str, Any]:
        """The spec as it is stored and travels: JSON values, defaults written out, absent fields left out."""
        return self.spec.model_dump(mode="json", exclude_none=True)


def parse(text: str | bytes) -> tuple[Document, ...] | Faults:
    """Every document of a YAML text, or all faults of all documents with path and line; nothing in between."""
    trees, faults = yaml_text.read(text)
    if not trees and not faults:
        faults = [Fault("", "expected at least one document; found none")]
    documents = []
    for index, tree in enumerate(trees):
        found = _Reading(index, tree)
        document = found.document()
        faults += found.faults
        if document is not None:
            documents.append(document)
    faults += _repeated(documents)
    return Faults.of(faults) if faults else tuple(documents)


class _Reading:
    """The reading of one document, which gathers its faults."""

    def __init__(self, index: int, tree: Tree) -> None:
        self._index = index
        self._tree = tree
        self.faults = [Fault(path_text(index, path), message, line) for path, message, line in tree.faults]

    def document(self) -> Document | None:
        raw = self._tree.value
        if self._tree.broken:
            return None
        if not isinstance(raw, dict):
            self._add((), f"expected a mapping with {', '.join(_TOP)}")
            return None
        self._check_top(raw)
        kind = raw.get("kind")
        metadata = self._validate(Metadata, raw, "metadata")
        if not self._known(kind, raw) or not isinstance(kind, str):
            return None
        spec = self._validate(type_of_kind[kind], raw, "spec")
        for path, message in supported.not_yet(kind, raw.get("spec")):
            self._add(("spec", *path), message)
        self._check_meaning(kind, metadata, spec, raw)
        if self.faults or metadata is None or spec is None:
            return None
        return Document(kind, metadata, cast("Spec", spec), self._index, self._tree.lines)

    def _add(self, path: Path, message: str) -> None:
        self.faults.append(Fault(path_text(self._index, path), message, self._tree.line(path)))

    def _check_top(self, raw: dict[str, Any]) -> None:
        for name in raw:
            if name not in _TOP:
                self._add((name,), _unknown(name, _TOP))
        if raw.get("apiVersion") != API_VERSION:
            self._add(("apiVersion",), f"expected {API_VERSION}")

    def _known(self, kind: Any, raw: dict[str, Any]) -> bool:
        if isinstance(kind, str) and kind in type_of_kind:
            return True
        if isinstance(kind, str) and kind in supported.LATER_KINDS:
            self._add(("kind",), f"not yet supported: kind: {kind}")
        elif "kind" in raw:
            self._add(("kind",), f"expected one of {', '.join(type_of_kind)}")
        else:
            self._add(("kind",), f"required: one of {', '.join(type_of_kind)}")
        return False

    def _validate(self, model: type[BaseModel], raw: dict[str, Any], part: str) -> BaseModel | Any:
        if raw.get(part) is None:
            self._add((part,), "required")
            return None
        try:
            return model.model_validate(raw[part])
        except ValidationError as fault:
            for error in fault.errors(include_url=False, include_input=False):
                path = (part, *error["loc"])
                self._add(path, _message(cast("dict[str, Any]", error), model, error["loc"]))
            return None

    def _check_meaning(self, kind: str, metadata: Any, spec: Any, raw: dict[str, Any]) -> None:
        if kind == "Tenant" and isinstance(metadata, Metadata) and "tenant" in raw["metadata"]:
            if metadata.tenant != metadata.name:
                self._add(("metadata", "tenant"), "expected none: a tenant is named by metadata.name")
        if isinstance(spec, SubscriptionSpec):
            for path, message in _meaning_of_subscription(spec):
                self._add(path, message)


def _meaning_of_subscription(spec: SubscriptionSpec) -> Iterator[tuple[Path, str]]:
    for path, message in filters.faults_of(spec.filters):
        yield ("spec", "filters", *path), message
    every = spec.source.time.every if spec.source.time else None
    if every is not None and every < SHORTEST_INTERVAL:
        yield (
            ("spec", "source", "time", "every"),
            "expected at least 1m: nothing fires more than once a minute",
        )
    for index, name in enumerate(spec.source.platform.types if spec.source.platform else ()):
        if not name.startswith("sereno.platform."):
            yield (
                ("spec", "source", "platform", "types", index),
                "expected a type of the family sereno.platform, such as sereno.platform.run.finished",
            )


def _repeated(documents: list[Document]) -> Iterator[Fault]:
    seen: dict[tuple[str, str, str], Document] = {}
    for document in documents:
        identity = (document.kind, document.tenant, document.metadata.name)
        first = seen.setdefault(identity, document)
        if first is not document:
            message = (
                f"{document.kind} {document.metadata.name} is declared already in documents[{first.index}]"
            )
            yield document.fault(message, "metadata", "name")


def _unknown(name: str, known: Any) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"expected one of {', '.join(known)}"
    return f"unknown field; {hint}"


def _message(error: dict[str, Any], _model: type[BaseModel], _loc: Path) -> str:
    if error["type"] == "extra_forbidden":
        return "unknown field"
    if error["type"] == "missing":
        return "required"
    message: str = error["msg"]
    return message.removeprefix("Value error, ")
