"""The directory: the matcher's index over the catalog, compiling again only what changed."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.catalog.rights import Memory, facts_in
from sereno.execution_plane.guards.subscription import Identity, Subscription, of_spec
from sereno.execution_plane.guards.tenancy import TENANCY, Tenancy, of_tenant
from sereno.execution_plane.pipeline.matcher import Index
from sereno.mailbox.engine.telemetry import logger
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.models import AgentSpec, SubscriptionSpec, TenantSpec
from sereno.subscriptions.models.limits import Budget
from sereno.subscriptions.policy.facts import Facts
from sereno.subscriptions.rights import RIGHTS, Rights
from sereno.subscriptions.snapshot import CatalogObject

_log = logger("directory")
Key = tuple[str, str]


class Around(NamedTuple):
    """What a subscription has from its agent and its tenant."""

    identities: frozenset[Identity] = frozenset()
    agent_budget: Budget | None = None
    tenancy: Tenancy = TENANCY


class Directory:
    """Every tenant's subscriptions ready to match, as of the catalog's last refresh."""

    def __init__(self, catalog: Catalog) -> None:
        self.index = Index()
        self._catalog = catalog
        self._compiled: dict[str, dict[str, tuple[CatalogObject, Around, Rights, Subscription | None]]] = {}
        self._changed: set[Key] = set()
        self._rights: dict[str, Memory] = {}
        catalog.on_change(self.update)
        self.update([tenant.tenant for tenant in catalog.tenants])

    def policy_valid_until(self) -> dict[str, datetime]:
        """Until when each tenant's manifest allows to work from it."""
        return {tenant.tenant: tenant.valid_until for tenant in self._catalog.tenants}

    def subscription(self, tenant: str, name: str) -> Subscription | None:
        """The subscription as it stands; None when it was deleted or revoked, or cannot be used."""
        found = self._compiled.get(tenant, {}).get(name)
        return None if found is None else found[3]

    def take_changed(self) -> set[Key]:
        """The subscriptions that stand otherwise than when this was asked last."""
        changed, self._changed = self._changed, set()
        return changed

    def update(self, tenants: Sequence[str]) -> None:
        """Take over what changed in these tenants."""
        for tenant in tenants:
            agents = {
                agent.name: AgentSpec.model_validate(agent.spec) for agent in self._catalog.agents(tenant)
            }
            tenancy = self._tenancy(tenant)
            known, now = self._compiled.get(tenant, {}), {}
            memory, facts, at = (
                self._rights.setdefault(tenant, Memory()),
                self._facts(tenant),
                datetime.now(UTC),
            )
            for declared in in_force(self._catalog.subscriptions(tenant)):
                name = str(declared.spec.get("agent", "")).removeprefix("agent:")
                around, rights = _around(agents.get(name), tenancy), memory.rights(facts, declared, at)
                before = known.get(declared.name)
                if before is not None and before[:3] == (declared, around, rights):
                    now[declared.name] = before
                else:
                    now[declared.name] = (declared, around, rights, _compile(declared, around, rights))
                    self._changed.add((tenant, declared.name))
            self._changed |= {(tenant, name) for name in known.keys() - now.keys()}
            self._compiled[tenant] = now
            self.index.replace(tenant, [entry[3] for entry in now.values() if entry[3] is not None])

    def _facts(self, tenant: str) -> Facts | None:
        found = self._catalog.tenant(tenant)
        return facts_in(found.objects.values()) if found else None

    def _tenancy(self, tenant: str) -> Tenancy:
        found = self._catalog.tenant(tenant)
        declared = () if found is None else found.of_kind("Tenant")
        return next((of_tenant(TenantSpec.model_validate(one.spec)) for one in declared), TENANCY)


def _around(agent: AgentSpec | None, tenancy: Tenancy) -> Around:
    if agent is None:
        return Around(tenancy=tenancy)
    identities = frozenset((identity.origin, identity.actor) for identity in agent.identities)
    return Around(identities, agent.budget, tenancy)


def in_force(objects: Iterable[CatalogObject]) -> list[CatalogObject]:
    """The subscriptions that events can match; a deleted one matches none."""
    return [item for item in objects if item.state != State.DELETED]


def compile_object(
    declared: CatalogObject,
    identities: Iterable[Identity] = (),
    *,
    rights: Rights = RIGHTS,
    tenancy: Tenancy = TENANCY,
    agent_budget: Budget | None = None,
) -> Subscription:
    """A declared subscription ready to match; ValueError when this process does not know its form."""
    return of_spec(
        SubscriptionSpec.model_validate(declared.spec),
        tenant=declared.tenant,
        name=declared.name,
        version=declared.version,
        state=State(declared.state),
        rights=rights,
        identities=identities,
        tenancy=tenancy,
        agent_budget=agent_budget,
    )


def _compile(declared: CatalogObject, around: Around, rights: Rights) -> Subscription | None:
    try:
        return compile_object(
            declared,
            around.identities,
            rights=rights,
            tenancy=around.tenancy,
            agent_budget=around.agent_budget,
        )
    except ValueError as fault:
        # A control plane may be newer than this process; one such subscription must not stop the others.
        _log.error(
            "subscription_not_usable",
            tenant=declared.tenant,
            subscription=declared.name,
            error=str(fault),
        )
        return None
