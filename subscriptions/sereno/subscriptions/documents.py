"""Reads declared documents: all of them, or every fault of every one of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from sereno.subscriptions import meaning, supported, yaml_text
from sereno.subscriptions.faults import Fault, Faults, join_path, steps_of
from sereno.subscriptions.models import SPECS, Kind, Metadata, Spec
from sereno.subscriptions.models.metadata import DEFAULT_TENANT
from sereno.subscriptions.wording import unknown_field, worded
from sereno.subscriptions.yaml_text import Path, Tree

API_VERSION = "sereno/v1"
NO_EVALUATOR = "no evaluator is configured to judge it: set SERENO_EVALUATORS and start again"
_TOP = ("apiVersion", "kind", "metadata", "spec")


@dataclass(frozen=True, slots=True)
class Document:
    """One declared object, read without fault; `index` counts the documents of its text from 0."""

    kind: Kind
    metadata: Metadata
    spec: Spec
    index: int
    tree: Tree = field(default_factory=Tree, repr=False, compare=False)

    @property
    def tenant(self) -> str:
        """The tenant to whom the object belongs; a Tenant belongs to itself."""
        return self.metadata.name if self.kind == "Tenant" else self.metadata.tenant

    def line(self, path: str) -> int | None:
        """The line of a field such as `spec.source.webhook`, or of what is written nearest around it."""
        return self.tree.line(steps_of(path))

    def fault(self, path: str, message: str) -> Fault:
        """A fault at a field of this document, with its line: for who knows more than the text says."""
        return Fault(f"documents[{self.index}].{path}", message, self.line(path))

    def canonical(self) -> dict[str, Any]:
        """The spec as it is stored and travels: JSON values, defaults written out, absent fields left out."""
        return self.spec.model_dump(mode="json", exclude_none=True)


def parse(
    text: str | bytes, *, simulated: bool = False, judged: bool = False, tenant: str = DEFAULT_TENANT
) -> tuple[Document, ...] | Faults:
    """Every document of a YAML text, or all faults of all documents with path and line; nothing in between.

    `simulated` accepts what has a decider, though nothing brings or takes it live yet; `judged` says that there is an
    evaluator, without which a condition would wait for its verdict for ever. `tenant` is whose objects
    they are where a document does not say.
    """
    trees, faults = yaml_text.read(text)
    if not trees and not faults:
        faults = [Fault("", "expected at least one document; found none")]
    documents: list[Document] = []
    for index, tree in enumerate(trees):
        reading = _Reading(index, tree, simulated=simulated, judged=judged or simulated, tenant=tenant)
        document = reading.document()
        faults += reading.faults
        if document is not None:
            documents.append(document)
    faults += _repeated(documents)
    return Faults.of(faults) if faults else tuple(documents)


class _Reading:
    """The reading of one document, which gathers its faults."""

    def __init__(self, index: int, tree: Tree, *, simulated: bool, judged: bool, tenant: str) -> None:
        self._simulated = simulated
        self._judged = judged
        self._tenant = tenant
        self._base = f"documents[{index}]"
        self._index = index
        self._tree = tree
        self.faults = [
            Fault(join_path(self._base, path), message, line) for path, message, line in tree.faults
        ]

    def document(self) -> Document | None:
        """The document, or None when something in it is wrong."""
        raw = self._tree.value
        if self._tree.broken:
            return None
        if not isinstance(raw, dict):
            self._add((), f"expected a mapping with {', '.join(_TOP)}")
            return None
        self._check_top(raw)
        kind = self._kind(raw)
        metadata = self._validate(Metadata, raw, "metadata")
        if kind is None:
            return None
        spec = self._validate(SPECS[kind], raw, "spec")
        for path, message in meaning.of(kind, raw, simulated=self._simulated):
            self._add(path, message)
        self._refuse_later(kind, raw.get("spec"))
        self._refuse_unjudged(raw.get("spec"))
        if self.faults or metadata is None or spec is None:
            return None
        return Document(
            kind, self._placed(cast("Metadata", metadata)), cast("Spec", spec), self._index, self._tree
        )

    def _placed(self, metadata: Metadata) -> Metadata:
        if "tenant" in metadata.model_fields_set:
            return metadata
        return metadata.model_copy(update={"tenant": self._tenant})

    def _add(self, path: Path, message: str) -> None:
        self.faults.append(Fault(join_path(self._base, path), message, self._tree.line(path)))

    def _refuse_later(self, kind: Kind, spec: Any) -> None:
        """Refuses what is not supported yet; what else is wrong inside it says nothing more."""
        later = supported.LATER_SIMULATED if self._simulated else supported.LATER
        for path, message in supported.not_yet(kind, spec, later):
            inside = join_path(self._base, path)
            self.faults = [fault for fault in self.faults if not _is_within(fault.path, inside)]
            self._add(path, message)

    def _refuse_unjudged(self, spec: Any) -> None:
        if not self._judged and isinstance(spec, dict) and spec.get("condition") is not None:
            self._add(("spec", "condition"), NO_EVALUATOR)

    def _check_top(self, raw: dict[str, Any]) -> None:
        for name in raw:
            if name not in _TOP:
                self._add((name,), unknown_field(name, _TOP))
        if raw.get("apiVersion") != API_VERSION:
            self._add(("apiVersion",), f"expected {API_VERSION}")

    def _kind(self, raw: dict[str, Any]) -> Kind | None:
        kind = raw.get("kind")
        if isinstance(kind, str) and kind in get_args(Kind):
            return cast("Kind", kind)
        if isinstance(kind, str) and kind in supported.LATER_KINDS:
            self._add(("kind",), f"not yet supported: kind: {kind}")
        else:
            self._add(("kind",), f"expected one of {', '.join(get_args(Kind))}")
        return None

    def _validate(self, model: type[BaseModel], raw: Mapping[str, Any], part: str) -> BaseModel | None:
        if raw.get(part) is None:
            self._add((part,), "required")
            return None
        try:
            return model.model_validate(raw[part])
        except ValidationError as fault:
            errors = fault.errors(include_url=False, include_input=False)
            for error in errors:
                # Pydantic counts only the good items of a list; the bad ones are reported already.
                if error["type"] != "too_short" or not any(_is_inside(other, error) for other in errors):
                    self._add((part, *error["loc"]), worded(error, model))
            return None


def _is_within(path: str, outer: str) -> bool:
    return path == outer or path.startswith((f"{outer}.", f"{outer}["))


def _is_inside(error: ErrorDetails, outer: ErrorDetails) -> bool:
    return len(error["loc"]) > len(outer["loc"]) and error["loc"][: len(outer["loc"])] == outer["loc"]


def _repeated(documents: list[Document]) -> Iterator[Fault]:
    seen: dict[tuple[str, str, str], Document] = {}
    for document in documents:
        first = seen.setdefault((document.kind, document.tenant, document.metadata.name), document)
        if first is not document:
            yield document.fault(
                "metadata.name",
                f"{document.kind} {document.metadata.name} is declared already in documents[{first.index}]",
            )
