"""Whether a subscription may fire now."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.rights import Objection, Standing, objection

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
GOOD = Standing(State.ACTIVE, expires=LATER, valid_until=LATER)


def test_an_active_subscription_fires() -> None:
    assert objection(GOOD, NOW) is None
    assert objection(Standing(State.ACTIVE), NOW) is None


@pytest.mark.req(75)
@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (State.DRAFT, "not_active"),
        (State.PENDING_APPROVAL, "not_active"),
        (State.PAUSED, "not_active"),
        (State.REJECTED, "not_active"),
        (State.EXPIRED, "expired"),
        (State.EXHAUSTED, "exhausted"),
        (State.DELETED, "revoked"),
    ],
)
def test_only_active_fires(state: State, reason: str) -> None:
    found = objection(replace(GOOD, state=state), NOW)
    assert found is not None
    assert (found.reason, found.outcome) == (reason, "dropped")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"revoked": True}, Objection("revoked", "dropped")),
        ({"owner_removed": True}, Objection("owner_removed", "dropped")),
        ({"agent_suspended": True}, Objection("agent_suspended", "dropped")),
        ({"expires": NOW}, Objection("expired", "dropped")),
        ({"valid_until": NOW}, Objection("policy_expired", "held")),
        ({"verified_sender_only": True}, Objection("sender_unverified", "dropped")),
        ({"revoked": True, "state": State.PAUSED, "expires": NOW}, Objection("revoked", "dropped")),
        ({"agent_suspended": True, "state": State.PAUSED}, Objection("agent_suspended", "dropped")),
        ({"state": State.PAUSED, "expires": NOW}, Objection("not_active", "dropped")),
        ({"expires": NOW, "valid_until": NOW}, Objection("expired", "dropped")),
    ],
)
def test_the_first_objection_in_the_contracts_order_counts(
    change: dict[str, object], expected: Objection
) -> None:
    assert objection(replace(GOOD, **change), NOW) == expected  # type: ignore[arg-type]


def test_ends_are_exclusive_and_a_verified_sender_passes() -> None:
    assert objection(GOOD, LATER - timedelta(microseconds=1)) is None
    assert objection(GOOD, LATER) is not None
    assert objection(replace(GOOD, verified_sender_only=True), NOW, sender_verified=True) is None
