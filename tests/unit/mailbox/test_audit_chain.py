"""What breaks a chain is found and named: a flipped byte, a removed record, a cut tail, a fork."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from sereno.mailbox.audit import checkpoint
from sereno.mailbox.audit.chain import GENESIS, Fault, Head, Record, canonical, extend, hash_of, verify
from sereno.mailbox.audit.checkpoint import Checkpoint
from sereno.mailbox.audit.ledger import commitment

T0 = datetime(2026, 11, 30, tzinfo=UTC).isoformat()


def chain(length: int = 6) -> list[Record]:
    return list(extend(Head(), (canonical({"n": number, "actor": "user:marta"}) for number in range(length))))


def faults(records: list[Record], head: Head | None = None, anchors: tuple[Head, ...] = ()) -> list[Fault]:
    return list(verify(records, head, anchors).faults)


def end(records: list[Record]) -> Head:
    return Head(records[-1].seq, records[-1].hash)


def test_a_whole_chain_has_no_fault() -> None:
    records = chain()
    report = verify(records, end(records), (Head(3, records[2].hash),))
    assert (report.records, report.head, report.faults) == (6, end(records), ())
    assert verify([], Head()).faults == ()


@given(st.integers(0, 5), st.integers(0, 10_000), st.integers(1, 255))
def test_one_flipped_byte_is_found_and_its_record_named(place: int, where: int, flip: int) -> None:
    records = chain()
    changed = bytearray(records[place].canonical)
    changed[where % len(changed)] ^= flip
    records[place] = replace(records[place], canonical=bytes(changed))
    assert [(fault.kind, fault.seq) for fault in faults(records)] == [("changed", place + 1)]


def test_a_record_hashed_anew_does_not_fit_the_next_nor_a_checkpoint() -> None:
    records = chain()
    other = canonical({"n": 99})
    records[2] = Record(3, records[2].prev, hash_of(3, records[2].prev, other), other)
    assert [(fault.kind, fault.seq) for fault in faults(records)] == [("forked", 4)]


def test_a_chain_made_anew_from_a_place_on_is_not_what_a_checkpoint_signed() -> None:
    real = chain()
    forged = real[:2] + list(extend(Head(2, real[1].hash), (canonical({"n": n}) for n in range(90, 94))))
    assert faults(forged, end(forged)) == []
    found = faults(forged, end(forged), (end(real),))
    assert [(fault.kind, fault.seq) for fault in found] == [("changed", 6)]


@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_deleted_record_is_found_and_named(place: int) -> None:
    records = chain()
    whole = end(records)
    del records[place]
    [fault] = faults(records, whole)
    assert (fault.kind, fault.seq) == ("missing", place + 1)


def test_several_deleted_records_are_one_fault_that_names_them() -> None:
    records = chain()
    del records[1:4]
    [fault] = faults(records)
    assert (fault.kind, fault.message) == ("missing", "records 2 to 4 missing: deleted, or never written")


def test_a_cut_tail_is_found_by_the_head_and_with_the_head_moved_back_by_a_checkpoint() -> None:
    records = chain()
    whole = end(records)
    cut = records[:4]
    assert [(fault.kind, fault.seq) for fault in faults(cut, whole)] == [("cut", 5)]
    assert faults(cut, end(cut)) == [], "a chain alone does not show it"
    assert [(fault.kind, fault.seq) for fault in faults(cut, end(cut), (whole,))] == [("cut", 5)]


def test_a_fork_is_found() -> None:
    records = chain()
    other = canonical({"n": "slipped in"})
    slipped = Record(3, records[1].hash, hash_of(3, records[1].hash, other), other)
    [fault] = faults([*records[:3], slipped, *records[3:]])
    assert (fault.kind, fault.seq) == ("forked", 3)


def test_a_record_that_follows_another_than_the_one_before_is_a_fork() -> None:
    records = chain()
    records[3] = Record(4, GENESIS, hash_of(4, GENESIS, records[3].canonical), records[3].canonical)
    assert ("forked", 4) in [(fault.kind, fault.seq) for fault in faults(records)]


def test_the_canonical_bytes_are_those_of_rfc_8785() -> None:
    assert (
        canonical({"b": 1, "a": "ü", "é": [1.5, None, True]})
        == '{"a":"ü","b":1,"é":[1.5,null,true]}'.encode()
    )
    assert canonical({"b": 1, "a": "x"}) == b'{"a":"x","b":1}'


def test_a_commitment_says_nothing_without_its_salt() -> None:
    about = {"reason": "because"}
    assert commitment(b"a" * 16, about) != commitment(b"b" * 16, about)
    assert commitment(b"a" * 16, about) == commitment(b"a" * 16, dict(about))


KEY = Ed25519PrivateKey.generate()
TRUSTED = {"k": KEY.public_key()}
ENDS = {"acme": Head(3, b"\1" * 32), "beta": Head(9, b"\2" * 32), "ceta": Head(1, b"\3" * 32)}


def test_a_checkpoint_is_read_as_it_was_signed() -> None:
    taken = Checkpoint("control", T0, ENDS, {"execution": "00"})
    assert checkpoint.read(checkpoint.sign(taken, KEY, "k"), TRUSTED) == taken


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{}", "no checkpoint"),
        (b"not json", "no checkpoint"),
        (checkpoint.sign(Checkpoint("control", T0, ENDS, {}), KEY, "other"), "not trusted"),
        (
            checkpoint.sign(Checkpoint("control", T0, ENDS, {}), Ed25519PrivateKey.generate(), "k"),
            "does not hold",
        ),
    ],
)
def test_a_checkpoint_that_cannot_be_trusted_says_why(line: bytes, says: str) -> None:
    found = checkpoint.read(line, TRUSTED)
    assert isinstance(found, str)
    assert says in found


def test_the_root_covers_every_end() -> None:
    whole = checkpoint.root(ENDS)
    assert checkpoint.root({}) != whole
    for tenant, head in ENDS.items():
        assert checkpoint.root({**ENDS, tenant: replace(head, seq=head.seq + 1)}) != whole
        assert checkpoint.root({name: end for name, end in ENDS.items() if name != tenant}) != whole
