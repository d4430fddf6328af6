import pytest

from sereno.execution_plane.manifest.change import Change, Effect, changes
from sereno.subscriptions.snapshot import CatalogObject


def subscription(state: str) -> list[CatalogObject]:
    if state == "absent":
        return []
    named = {
        "kind": "Subscription",
        "tenant": "acme",
        "name": "watch",
        "id": "1",
        "version": 1,
        "state": state,
    }
    return [
        CatalogObject.model_validate(
            named | {"spec": {}, "created_by": "user:a", "updated_at": "2026-11-30T10:00:00Z"}
        )
    ]


@pytest.mark.parametrize(
    ("before", "after", "effects"),
    [
        ("active", "active", []),
        ("active", "paused", [Effect.PAUSED]),
        ("paused", "active", [Effect.RESUMED]),
        ("active", "expired", []),
        ("paused", "expired", [Effect.RESUMED]),
        ("active", "deleted", [Effect.WITHDRAWN]),
        ("paused", "deleted", [Effect.WITHDRAWN]),
        ("active", "absent", [Effect.REVOKED]),
        ("paused", "absent", [Effect.RESUMED, Effect.REVOKED]),
        ("absent", "active", [Effect.RESTORED]),
        ("absent", "paused", [Effect.RESTORED, Effect.PAUSED]),
        ("deleted", "absent", []),
        ("absent", "absent", []),
    ],
)
def test_what_a_step_means_for_the_messages(before: str, after: str, effects: list[Effect]) -> None:
    found = changes("acme", subscription(before), subscription(after))
    assert found == tuple(Change("acme", "watch", effect) for effect in effects)
