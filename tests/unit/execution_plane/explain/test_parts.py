"""Parts of an explanation that need no store: the chain of an event, and what was judged."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from sereno.execution_plane.explain.condition import condition_of, evidence_of
from sereno.execution_plane.explain.evidence import NO_CHAIN, Chain, Incomplete
from sereno.execution_plane.explain.genealogy import genealogy_of

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
QUOTE = {"item": "t-1", "quote": "money back", "sha256": "00", "trust": "untrusted"}
MET = {
    "type": "sereno.condition.met",
    "trust": "platform",
    "data": {"confidence": 0.9, "calibrated": False, "evidence": [QUOTE]},
}


def event(number: int, **envelope: Any) -> dict[str, Any]:
    return {
        "receiptid": UUID(int=number),
        "type": "com.example.made",
        "origin": "webhook/shop",
        "recordedtime": NOON,
        "causationid": envelope.get("causationid"),
        "envelope": {"correlationid": str(UUID(int=1)), "hops": 1, **envelope},
    }


def message(number: int, *lineage: int) -> dict[str, Any]:
    return {
        "id": UUID(int=number),
        "agent": f"a{number}",
        "subscription": f"s{number}",
        "deposited_at": NOON + timedelta(seconds=number),
        "lineage": [{"message": str(UUID(int=one)), "agent": f"a{one}"} for one in lineage],
        "receipts": [str(UUID(int=number + 100))],
    }


def test_a_first_event_is_its_own_root() -> None:
    told = genealogy_of(event(7), NO_CHAIN)
    assert told["root"]["receipt"] == f"rcp_{7:032x}"
    assert told["chain"] == []


def test_a_chain_is_told_from_its_root() -> None:
    caused = event(9, causationid=str(UUID(int=3)), hops=3)
    told = genealogy_of(caused, Chain(event(1), [message(3, 2), message(2)]))
    assert (told["hops"], told["root"]["receipt"]) == (3, f"rcp_{1:032x}")
    assert [(step["message"], step["agent"]) for step in told["chain"]] == [
        (f"msg_{2:032x}", "a2"),
        (f"msg_{3:032x}", "a3"),
    ]
    assert told["chain"][0]["receipts"] == [f"rcp_{102:032x}"]


def test_a_verdict_names_its_candidate() -> None:
    told = genealogy_of(event(9, causationid=str(UUID(int=1)), hops=2), Chain(event(1), (), event(1)))
    assert told["candidate"]["receipt"] == told["root"]["receipt"]


@pytest.mark.parametrize(
    ("chain", "missing"),
    [
        (Chain(None, [message(3)]), "the first event of its chain"),
        (Chain(event(1)), "its cause, 00000000-0000-0000-0000-000000000003, is not stored"),
        (Chain(event(1), [message(3, 2)]), "00000000-0000-0000-0000-000000000002 among its causes"),
    ],
)
def test_a_missing_step_is_an_error(chain: Chain, missing: str) -> None:
    with pytest.raises(Incomplete, match=missing):
        genealogy_of(event(9, causationid=str(UUID(int=3)), hops=2), chain)


def test_what_was_judged_is_told_with_its_evidence_and_as_not_verified() -> None:
    spec = {"filters": [], "condition": {"criterion": "A refund?", "min_confidence": 0.7}}
    told = condition_of(spec, MET)
    assert told["verdict"] == {"confidence": 0.9, "calibrated": False, "judged": "not verified"}
    assert told["criterion"] == "A refund?"
    assert evidence_of(MET) == [QUOTE]
    # A sender that names the type itself has judged nothing.
    assert condition_of(spec, {**MET, "trust": "authenticated"})["verdict"] is None
    assert evidence_of({**MET, "trust": "authenticated"}) == []
    assert condition_of({"filters": [1]}, MET) == {"filters": [1]}
