from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sereno.execution_plane.catalog.tenant import TenantCatalog, picture
from sereno.subscriptions.snapshot import CatalogObject, Manifest

NOW = datetime(2026, 11, 30, 10, tzinfo=UTC)
HASH = "a" * 64


def declared(kind: str, name: str, spec: dict[str, Any], state: str = "active") -> CatalogObject:
    fields = {
        "kind": kind,
        "tenant": "acme",
        "name": name,
        "id": name,
        "version": 1,
        "state": state,
        "spec": spec,
    }
    return CatalogObject.model_validate(
        fields | {"created_by": "user:admin", "updated_at": NOW, "token_sha256": HASH}
    )


def of(*objects: CatalogObject) -> TenantCatalog:
    manifest = Manifest(
        tenant="acme",
        epoch=1,
        version=1,
        issued_at=NOW - timedelta(hours=24),
        valid_until=NOW,
        root=HASH,
        entries={},
        key_id="k",
    )
    return picture(manifest, objects)


def endpoint(state: str = "active", **spec: Any) -> CatalogObject:
    return declared("Endpoint", "hub", {"scheme": "github", "secrets": ["env:HOOK"]} | spec, state)


def test_a_live_endpoint_is_found_by_the_hash_of_its_token() -> None:
    found = of(endpoint()).endpoints[HASH]
    assert (found.tenant, found.origin, found.scheme.name) == ("acme", "webhook/hub", "github")


@pytest.mark.parametrize(
    "unusable",
    [endpoint("deleted"), endpoint(scheme="unheard-of"), endpoint(secrets=[])],
    ids=["deleted", "unknown-scheme", "no-secret"],
)
def test_an_endpoint_that_cannot_be_used_is_none_and_stops_no_other(unusable: CatalogObject) -> None:
    token = declared("Token", "t", {"principal": "user:marta", "scopes": ["*"]})
    found = of(unusable, token)
    assert found.endpoints == {}
    assert found.principals[HASH].name == "user:marta"


@pytest.mark.parametrize(
    ("scopes", "tenant", "agents"),
    [
        (["*"], "*", None),
        (["agent:a", "agent:b"], "acme", frozenset({"a", "b"})),
        ([], "acme", None),
    ],
)
def test_the_scopes_of_a_token_say_how_far_it_reaches(
    scopes: list[str], tenant: str, agents: frozenset[str] | None
) -> None:
    found = of(declared("Token", "t", {"principal": "user:marta", "scopes": scopes})).principals[HASH]
    assert (found.tenant, found.agents) == (tenant, agents)


def test_a_revoked_token_is_nobodys() -> None:
    assert (
        of(declared("Token", "t", {"principal": "user:marta", "scopes": ["*"]}, "deleted")).principals == {}
    )


def test_a_catalog_ends_with_its_manifest() -> None:
    assert of().is_expired(NOW)
    assert not of().is_expired(NOW - timedelta(microseconds=1))
