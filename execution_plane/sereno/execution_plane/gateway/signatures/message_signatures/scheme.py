"""HTTP message signatures (RFC 9421): `Signature-Input` says what is covered, `Signature` holds the values.

A signature proves only what it covers: the body is proven by a content digest that is right and itself covered.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sereno.execution_plane.gateway.signatures import keys
from sereno.execution_plane.gateway.signatures.message_signatures import (
    algorithms,
    components,
    content_digest,
    structured,
)
from sereno.execution_plane.gateway.signatures.message_signatures.components import Missing
from sereno.execution_plane.gateway.signatures.message_signatures.structured import InnerList, Item
from sereno.execution_plane.gateway.signatures.scheme import Failed, Reason, Request, Verified

INPUT, SIGNATURE = "signature-input", "signature"
_MOST_LABELS = 4
_MOST_COMPONENTS = 64
_TYPES: Mapping[str, type] = {
    "created": int,
    "expires": int,
    "keyid": str,
    "alg": str,
    "nonce": str,
    "tag": str,
}


@dataclass(frozen=True, slots=True)
class MessageSignatures:
    """A sender that signs parts of its requests; `components` must all be covered, `tag` must be the signature's."""

    components: tuple[str, ...] = ()
    tag: str | None = None

    name: ClassVar[str] = "rfc9421"
    signs_time: ClassVar[bool] = True

    def verify(self, request: Request, secrets: Sequence[bytes]) -> Verified | Failed:
        """See `Scheme.verify`. Of several signatures one has to hold; the one that proves most is answered."""
        known = [key for key in map(keys.load, secrets) if key is not None]
        labelled = _labelled(request)
        if isinstance(labelled, Failed):
            return labelled
        if not known:
            return Failed("secret_malformed" if secrets else "secret_missing")
        answers = [self._one(request, covered, value, known) for covered, value in labelled]
        held = [answer for answer in answers if isinstance(answer, Verified)]
        if held:
            return max(held, key=lambda answer: (answer.covers_body, answer.timestamp is not None))
        return answers[0]

    def _one(
        self, request: Request, covered: InnerList, value: bytes, known: Sequence[keys.Key]
    ) -> Verified | Failed:
        fault = _shape_fault(covered) or self._objection(covered)
        if fault is not None:
            return Failed(fault)
        base = signature_base(request, covered)
        if isinstance(base, Missing):
            return Failed(base.reason)
        claimed = covered.parameters.get("alg")
        fitting = [(key, algorithms.algorithm_of(key, claimed)) for key in known]
        usable = [(key, algorithm) for key, algorithm in fitting if algorithm is not None]
        if not usable:
            return Failed("algorithm_not_allowed")
        # Every key is tried, so that the duration does not tell which one is in use.
        held = [algorithms.holds(key, algorithm, base, value) for key, algorithm in usable]
        if not any(held):
            return Failed("signature_mismatch")
        return _vouched(request, covered)

    def _objection(self, covered: InnerList) -> Reason | None:
        if self.tag is not None and covered.parameters.get("tag") != self.tag:
            return "tag_mismatch"
        names = {item.text for item in covered.items}
        wanted = {Item(name, {}).text for name in self.components}
        return None if wanted <= names else "component_not_covered"


def signature_base(request: Request, covered: InnerList) -> bytes | Missing:
    """The bytes that are signed (2.5), or which component is not there."""
    lines = []
    for component in covered.items:
        value = components.value_of(component, request)
        if isinstance(value, Missing):
            return value
        lines.append(f"{component.text}: {value}\n")
    lines.append(f'"@signature-params": {covered.text}')
    return "".join(lines).encode("ascii")


def _labelled(request: Request) -> list[tuple[InnerList, bytes]] | Failed:
    """The signatures that have both a description and a value."""
    texts = [components.field_value(name, request) for name in (INPUT, SIGNATURE)]
    if texts[0] is None or texts[1] is None:
        return Failed("signature_missing")
    inputs, values = (structured.dictionary(text or "") for text in texts)
    if inputs is None or values is None or len(inputs) > _MOST_LABELS or len(values) > _MOST_LABELS:
        return Failed("signature_malformed")
    return list(_pairs(inputs, values)) or Failed("signature_missing")


def _pairs(
    inputs: Mapping[str, Item | InnerList], values: Mapping[str, Item | InnerList]
) -> Iterator[tuple[InnerList, bytes]]:
    for label, covered in inputs.items():
        value = values.get(label)
        if isinstance(covered, InnerList) and isinstance(value, Item) and isinstance(value.value, bytes):
            yield covered, value.value


def _shape_fault(covered: InnerList) -> Reason | None:
    """What is wrong with a description, whatever it covers."""
    texts = [item.text for item in covered.items]
    twice = len(set(texts)) != len(texts)
    wrong = any(
        type(covered.parameters[name]) is not kind
        for name, kind in _TYPES.items()
        if name in covered.parameters
    )
    created, expires = (covered.parameters.get(name) for name in ("created", "expires"))
    backwards = isinstance(created, int) and isinstance(expires, int) and expires < created
    if twice or wrong or backwards or len(texts) > _MOST_COMPONENTS:
        return "signature_malformed"
    return None


def _vouched(request: Request, covered: InnerList) -> Verified | Failed:
    digest = [item for item in covered.items if item.value == content_digest.HEADER]
    for item in digest:
        fault = content_digest.objection(request, item.parameters.get("key"))
        if fault is not None:
            return Failed(fault)
    return Verified(
        covered=frozenset(str(item.value) for item in covered.items if _is_whole_field(item)),
        covers_body=bool(digest),
        timestamp=covered.parameters.get("created"),
        expires=covered.parameters.get("expires"),
    )


def _is_whole_field(item: Item) -> bool:
    return not str(item.value).startswith("@") and "key" not in item.parameters
