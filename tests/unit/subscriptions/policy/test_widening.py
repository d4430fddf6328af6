"""Which edits of a subscription could do more than what was approved."""

from typing import Any

import pytest

from sereno.subscriptions.models import SubscriptionSpec
from sereno.subscriptions.policy.widening import widening

BASE: dict[str, Any] = {
    "owner": "user:marta",
    "agent": "agent:triage",
    "instruction": "Draft a reply.",
    "source": {"webhook": {"endpoint": "zendesk"}},
    "filters": [{"prefix": {"type": "com.zendesk"}}],
    "sender": "verified",
    "limits": {
        "cooldown": {"every": "10m"},
        "budget": {"activations": "100/day", "cost": {"limit": "5.00 EUR/day", "reserve": "0.30 EUR"}},
        "storm": {"threshold": "60/min"},
        "max_occurrences": 10,
        "expires": "2027-01-01T00:00:00Z",
        "reentry": 1,
    },
}


def stored(**changes: Any) -> dict[str, Any]:
    limits = {**BASE["limits"], **changes.pop("limits", {})}
    given = {
        **BASE,
        **changes,
        "limits": {name: value for name, value in limits.items() if value is not None},
    }
    return SubscriptionSpec.model_validate(given).model_dump(mode="json", exclude_none=True)


def budget(activations: str | None, cost: str | None) -> dict[str, Any]:
    own = {"activations": activations, "cost": {"limit": cost, "reserve": "0.30 EUR"} if cost else None}
    return {"limits": {"budget": {name: value for name, value in own.items() if value}}}


@pytest.mark.parametrize(
    "change",
    [
        {"source": {"webhook": {"endpoint": "other"}}},
        {"agent": "agent:writer"},
        {"instruction": "Send a reply."},
        {"owner": "user:luis"},
        {"filters": []},
        {"filters": [{"prefix": {"type": "com"}}]},
        {"sender": "any"},
        {"mode": "auto_low_risk"},
        {"condition": {"criterion": "Is it urgent?"}},
        {"limits": {"cooldown": None}},
        {"limits": {"cooldown": {"every": "5m"}}},
        {"limits": {"cooldown": {"every": "10m", "then": "batch"}}},
        budget("101/day", "5.00 EUR/day"),
        budget("100/hour", "5.00 EUR/day"),
        budget(None, "5.00 EUR/day"),
        budget("100/day", "5.01 EUR/day"),
        budget("100/day", "4.00 USD/day".replace("USD", "EUR").replace("day", "hour")),
        budget("100/day", None),
        {"limits": {"storm": None}},
        {"limits": {"storm": {"threshold": "61/min"}}},
        {"limits": {"max_occurrences": 11}},
        {"limits": {"max_occurrences": None}},
        {"limits": {"expires": "2027-01-02T00:00:00Z"}},
        {"limits": {"expires": None}},
        {"limits": {"reentry": 2}},
        {"limits": {"when_busy": "merge"}},
    ],
)
def test_widens(change: dict[str, Any]) -> None:
    assert widening(stored(), stored(**change))


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"workspace": "support"},
        {"delivery": {"priority": 5}},
        {"misfire": "skip"},
        {"filters": [*BASE["filters"], {"exact": {"subject": "x"}}]},
        {"mode": "draft"},
        {"limits": {"cooldown": {"every": "20m"}}},
        budget("99/day", "4.00 EUR/day"),
        {"limits": {"storm": {"threshold": "30/min"}}},
        {"limits": {"max_occurrences": 9}},
        {"limits": {"expires": "2026-12-31T00:00:00Z"}},
        {"limits": {"quiet_hours": {"zone": "UTC", "from": "22:00", "to": "07:00"}}},
    ],
)
def test_only_narrows(change: dict[str, Any]) -> None:
    assert widening(stored(), stored(**change)) == ()
