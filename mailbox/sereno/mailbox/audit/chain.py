"""The chain itself: canonical bytes, each record bound to the one before it, and what is wrong with a broken one. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

import orjson
import rfc8785

GENESIS = bytes(32)
"""What the first record of a chain follows."""
_RECORD = b"sereno/audit/record/v1\n"
Kind = Literal["changed", "missing", "forked", "cut", "unsigned"]


@dataclass(frozen=True, slots=True)
class Record:
    """One record as it is stored: its place, the hash before it, its own bytes and their hash."""

    seq: int
    prev: bytes
    hash: bytes
    canonical: bytes


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain: how many records it has and the hash of the last."""

    seq: int = 0
    hash: bytes = GENESIS


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong, named by kind and place."""

    kind: Kind
    seq: int
    message: str


@dataclass(frozen=True, slots=True)
class Report:
    """What walking a chain found: how far it is whole, and everything that is wrong."""

    records: int
    head: Head
    faults: tuple[Fault, ...] = field(default=())


def canonical(content: Mapping[str, Any] | Sequence[Any]) -> bytes:
    """The one byte form (RFC 8785); it is stored and hashed as it is, never made again."""
    text = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
    # The quick encoder differs from the standard only beyond ASCII and in how it writes fractions.
    return text if text.isascii() and not _has_fraction(content) else rfc8785.dumps(content)


def _has_fraction(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_fraction, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_fraction, value))
    return isinstance(value, float)


def hash_of(seq: int, prev: bytes, content: bytes) -> bytes:
    """The hash of a record over its place, the hash before it, and its bytes."""
    return sha256(_RECORD + seq.to_bytes(8, "big") + prev + content).digest()


def extend(head: Head, contents: Iterable[bytes]) -> Iterator[Record]:
    """The records that follow a head."""
    seq, prev = head.seq, head.hash
    for content in contents:
        seq += 1
        own = hash_of(seq, prev, content)
        yield Record(seq, prev, own, content)
        prev = own


def verify(records: Iterable[Record], head: Head | None = None, anchors: Sequence[Head] = ()) -> Report:
    """Walk the records in order of their place and name what is wrong.

    `head` is what the database says the end is, `anchors` are ends that were exported and signed before: only they
    show that a tail was cut and the head moved back with it.
    """
    faults: list[Fault] = []
    at, wanted = Head(), {anchor.seq: anchor for anchor in anchors}
    count = 0
    for record in records:
        count += 1
        faults += _step(at, record)
        if record.seq in wanted and wanted[record.seq].hash != record.hash:
            faults.append(
                Fault("changed", record.seq, "is not the record that a checkpoint signed at this place")
            )
        if record.seq > at.seq:
            at = Head(record.seq, record.hash)
    return Report(count, at, (*faults, *_ends(at, head, anchors)))


def _step(at: Head, record: Record) -> list[Fault]:
    if record.seq <= at.seq:
        return [Fault("forked", record.seq, "a second record claims this place")]
    faults = []
    if record.seq != at.seq + 1:
        last = record.seq - 1
        span = f"record {last}" if last == at.seq + 1 else f"records {at.seq + 1} to {last}"
        faults.append(Fault("missing", at.seq + 1, f"{span} missing: deleted, or never written"))
    elif record.prev != at.hash:
        faults.append(Fault("forked", record.seq, "follows another record than the one before it"))
    if hash_of(record.seq, record.prev, record.canonical) != record.hash:
        faults.append(Fault("changed", record.seq, "its bytes are not those that were hashed"))
    return faults


def _ends(at: Head, head: Head | None, anchors: Sequence[Head]) -> list[Fault]:
    last = max(anchors, key=lambda anchor: anchor.seq, default=None)
    if last is not None and last.seq > at.seq:
        message = f"the chain ends at {at.seq}, and a signed checkpoint covers {last.seq}: its tail was cut"
        return [Fault("cut", at.seq + 1, message)]
    if head is not None and head != at:
        message = f"the chain ends at {at.seq}, and its head says {head.seq}"
        return [Fault("cut" if head.seq > at.seq else "forked", at.seq + 1, message)]
    return []
