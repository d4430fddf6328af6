"""One tenant's declared objects at one manifest version: an immutable picture, swapped as a whole."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from sereno.execution_plane.catalog import identities
from sereno.execution_plane.catalog.rights import facts_in
from sereno.execution_plane.gateway import endpoint
from sereno.execution_plane.gateway.endpoint import Endpoint
from sereno.mailbox.engine.telemetry import logger
from sereno.mailbox.principal import Principal
from sereno.subscriptions.models.endpoint import EndpointSpec
from sereno.subscriptions.models.types import parse_instant
from sereno.subscriptions.policy.authority import Asking, may
from sereno.subscriptions.policy.decision import Action, Resource
from sereno.subscriptions.policy.facts import Facts
from sereno.subscriptions.snapshot import AuditEnd, CatalogObject, Manifest, ObjectKind

EVERYTHING = "*"
_AGENT_SCOPE = "agent:"
_LIVE, _PAUSED = "active", "paused"
_RIGHTS: tuple[Action, ...] = ("operate", "read", "audit")
_log = logger("catalog")


@dataclass(frozen=True, slots=True)
class TenantCatalog:
    """The objects of a tenant by key, and what is looked up on every request."""

    tenant: str
    epoch: int
    version: int
    issued_at: datetime
    valid_until: datetime
    audit: AuditEnd | None = None
    """Where the control plane's audit chain ended when the manifest was made, if that says anything new."""
    key_id: str = ""
    objects: Mapping[str, CatalogObject] = field(default_factory=dict)
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    """By the SHA-256 (hex) of the token in their URL."""
    principals: Mapping[str, Principal] = field(default_factory=dict)
    """By the SHA-256 (hex) of their bearer token."""
    expiries: Mapping[str, datetime] = field(default_factory=dict)
    """When those of these tokens end that do."""

    def of_kind(self, kind: ObjectKind) -> tuple[CatalogObject, ...]:
        """The objects of one kind, by name; deleted ones are among them and say so in `state`."""
        found = (item for item in self.objects.values() if item.kind == kind)
        return tuple(sorted(found, key=lambda item: item.name))

    def is_expired(self, at: datetime) -> bool:
        """Whether the control plane has been away for longer than its last manifest allows."""
        return at >= self.valid_until


def picture(
    manifest: Manifest, objects: Iterable[CatalogObject], retired: Iterable[CatalogObject] = ()
) -> TenantCatalog:
    """The catalog of a tenant under this manifest, made of its objects; `retired` are endpoints that it no longer names."""
    by_key = {f"{item.kind.lower()}/{item.name}": item for item in objects}
    live = [item for item in by_key.values() if item.state == _LIVE and item.token_sha256 is not None]
    known = identities.table(by_key.values())
    endpoints = {
        item.token_sha256: _endpoint(item, known.get(f"webhook/{item.name}", {}))
        for item in by_key.values()
        if item.kind == "Endpoint" and item.token_sha256 and item.state in (_LIVE, _PAUSED)
    }
    gone = {item.token_sha256: _endpoint(item, {}) for item in retired if item.token_sha256 is not None}
    facts = facts_in(by_key.values())
    tokens = {item.token_sha256: item for item in live if item.kind == "Token" and item.token_sha256}
    principals = {
        digest: found
        for digest, item in tokens.items()
        if (found := _principal(item, facts, manifest.issued_at)) is not None
    }
    expiries = {
        digest: parse_instant(item.spec["expires"])
        for digest, item in tokens.items()
        if item.spec.get("expires")
    }
    usable = {digest: replace(found, retired=True) for digest, found in gone.items() if found is not None}
    usable |= {digest: found for digest, found in endpoints.items() if found is not None}
    return TenantCatalog(
        manifest.tenant,
        manifest.epoch,
        manifest.version,
        manifest.issued_at,
        manifest.valid_until,
        manifest.audit,
        manifest.key_id,
        by_key,
        usable,
        principals,
        expiries,
    )


def _endpoint(item: CatalogObject, known: Mapping[str, str]) -> Endpoint | None:
    try:
        declared = EndpointSpec.model_validate(item.spec)
        return endpoint.of_spec(
            item.tenant, item.name, declared, paused=item.state == _PAUSED, identities=known
        )
    except ValueError as fault:
        # A control plane may be newer than this process; one endpoint of a kind unknown here must not stop the others.
        _log.error("endpoint_not_usable", tenant=item.tenant, endpoint=item.name, error=str(fault))
        return None


def _principal(item: CatalogObject, facts: Facts | None, at: datetime) -> Principal | None:
    """The principal of a token; a scope `*` reaches every tenant, scopes `agent:NAME` narrow it to those mailboxes.

    Where the manifest carries policies, a principal that was removed or suspended is nobody, an agent reaches its own
    mailbox, and others without `agent:NAME` need the right to operate; what else they may, to read and to audit, stands
    beside that.
    """
    scopes = [str(scope) for scope in item.spec.get("scopes", ())]
    agents = frozenset(scope.removeprefix(_AGENT_SCOPE) for scope in scopes if scope.startswith(_AGENT_SCOPE))
    name = str(item.spec.get("principal", item.name))
    tenant = EVERYTHING if EVERYTHING in scopes else item.tenant
    if facts is None:
        return Principal(name, tenant, agents or None)
    known = facts.subject(name, at)
    if known is None or known.suspended:
        return None
    if known.kind == "agent":
        return Principal(name, tenant, frozenset({name.removeprefix(_AGENT_SCOPE)}), rights=frozenset())
    asking = Asking(name, at, scopes=frozenset(scope for scope in scopes if scope != EVERYTHING))
    here = Resource("Tenant", item.tenant)
    rights = frozenset(right for right in _RIGHTS if may(facts, asking, right, here).allowed)
    return Principal(
        name, tenant, agents if agents or "operate" not in rights else None, rights=rights - {"operate"}
    )
