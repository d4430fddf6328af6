"""The directory: the matcher's index over the catalog, compiling again only what changed."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.catalog.rights import Memory, facts_in
from sereno.execution_plane.guards.subscription import Identity, Subscription, of_spec
from sereno.execution_plane.guards.tenancy import TENANCY, Tenancy
from sereno.execution_plane.pipeline.matcher import Index
from sereno.mailbox.engine.telemetry import logger
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.models import AgentSpec, SubscriptionSpec
from sereno.subscriptions.models.limits import Budget
from sereno.subscriptions.policy.facts import Facts
from sereno.subscriptions.rights import RIGHTS, Rights
from sereno.subscriptions.snapshot import CatalogObject

Identities = frozenset[Identity]
_log = logger("directory")


class Directory:
    """Every tenant's subscriptions ready to match, as of the catalog's last refresh."""

    def __init__(self, catalog: Catalog) -> None:
        self.index = Index()
        self._catalog = catalog
        self._compiled: dict[
            str, dict[str, tuple[CatalogObject, Identities, Rights, Subscription | None]]
        ] = {}
        self._rights: dict[str, Memory] = {}
        catalog.on_change(self.update)
        self.update([tenant.tenant for tenant in catalog.tenants])

    def policy_valid_until(self) -> dict[str, datetime]:
        """Until when each tenant's manifest allows to work from it."""
        return {tenant.tenant: tenant.valid_until for tenant in self._catalog.tenants}

    def update(self, tenants: Sequence[str]) -> None:
        """Take over what changed in these tenants."""
        for tenant in tenants:
            identities = {agent.name: _identities(agent) for agent in self._catalog.agents(tenant)}
            known, now = self._compiled.get(tenant, {}), {}
            memory, facts, at = (
                self._rights.setdefault(tenant, Memory()),
                self._facts(tenant),
                datetime.now(UTC),
            )
            for declared in in_force(self._catalog.subscriptions(tenant)):
                agent = str(declared.spec.get("agent", "")).removeprefix("agent:")
                own = identities.get(agent, frozenset())
                rights = memory.rights(facts, declared, at)
                before = known.get(declared.name)
                if before is not None and before[:3] == (declared, own, rights):
                    now[declared.name] = before
                else:
                    now[declared.name] = (declared, own, rights, _compile(declared, own, rights))
            self._compiled[tenant] = now
            self.index.replace(tenant, [entry[3] for entry in now.values() if entry[3] is not None])

    def _facts(self, tenant: str) -> Facts | None:
        found = self._catalog.tenant(tenant)
        return facts_in(found.objects.values()) if found else None


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


def _compile(declared: CatalogObject, identities: Identities, rights: Rights) -> Subscription | None:
    try:
        return compile_object(declared, identities, rights=rights)
    except ValueError as fault:
        # A control plane may be newer than this process; one such subscription must not stop the others.
        _log.error(
            "subscription_not_usable",
            tenant=declared.tenant,
            subscription=declared.name,
            error=str(fault),
        )
        return None


def _identities(agent: CatalogObject) -> Identities:
    spec = AgentSpec.model_validate(agent.spec)
    return frozenset((identity.origin, identity.actor) for identity in spec.identities)
