"""What the gauges say of audit chains: what is signed, and when they were last found whole."""

from typing import Any

import pytest

from sereno.mailbox.audit.chain import Head
from sereno.mailbox.audit.standing import AuditStanding

END = Head(7, bytes(32))


def shown(standing: AuditStanding) -> dict[str, float]:
    return {reading.name.rpartition(".")[2]: reading.value for reading in standing._readings("acme", END)}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_what_was_never_verified_is_as_old_as_the_process(clock: list[float]) -> None:
    standing = AuditStanding("control")
    clock[0] += 50
    assert shown(standing) == {"records": 7, "unsigned": 7, "verified": 50, "faults": 0}


def test_a_checkpoint_and_a_verification_are_told(clock: list[float]) -> None:
    standing = AuditStanding("control")
    standing.signed({"acme": Head(5, bytes(32))})
    clock[0] += 10
    standing.verified("acme", 0)
    clock[0] += 3
    assert shown(standing) == {"records": 7, "unsigned": 2, "verified": 3, "faults": 0}


def test_a_broken_chain_was_not_found_whole(clock: list[float]) -> None:
    standing = AuditStanding("control")
    standing.verified("acme", 0)
    clock[0] += 20
    standing.verified("acme", 2)
    assert shown(standing)["faults"] == 2
    assert shown(standing)["verified"] == 20


def test_a_process_shows_only_what_it_does() -> None:
    assert set(shown(AuditStanding("execution", verifies=False))) == {"records", "unsigned"}
    assert set(shown(AuditStanding("execution", signs=False))) == {"records", "verified", "faults"}
