"""The subscriptions of a simulation: declared in a file, moved through their lives by control lines."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal
from uuid import NAMESPACE_URL, uuid5

import orjson

from sereno.execution_plane.guards.subscription import Identity, Subscription, of_spec
from sereno.execution_plane.guards.tenancy import TENANCY, Tenancy, of_tenant
from sereno.execution_plane.listeners.schedule import Schedule, of_object, reconcile
from sereno.subscriptions import documents, lifecycle
from sereno.subscriptions.documents import Document
from sereno.subscriptions.faults import Faults
from sereno.subscriptions.lifecycle import State, Step, Verb
from sereno.subscriptions.models import AgentSpec, SubscriptionSpec, TenantSpec
from sereno.subscriptions.models.limits import Budget
from sereno.subscriptions.models.subscription import Misfire
from sereno.subscriptions.snapshot import CatalogObject

ACTOR = "user:simulated"
Taken = Literal["revoked", "owner_removed", "agent_suspended"]


class Refused(Exception):  # noqa: N818 - the field's word
    """A step that the subscription's life or the model does not allow; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a subscription has from its agent and its tenant."""

    identities: frozenset[Identity] = frozenset()
    agent_budget: Budget | None = None
    tenancy: Tenancy = TENANCY


@dataclass(frozen=True, slots=True)
class Declared:
    """One subscription as it stands: its object, its life, its schedule if it has one, and the compiled form;
    `written` is its specification without what was left to defaults, `taken` the right that it lost.
    """

    object: CatalogObject
    written: Mapping[str, Any]
    life: lifecycle.Subscription
    around: Around
    compiled: Subscription
    schedule: Schedule | None
    misfire: Misfire = "latest"
    taken: Taken | None = None

    @property
    def is_deleted(self) -> bool:
        """Whether it matches nothing any more."""
        return self.life.state is State.DELETED

    @property
    def key(self) -> tuple[str, str]:
        """Tenant and name."""
        return self.object.tenant, self.object.name


def declare(declared: Iterable[Document], at: datetime) -> list[Declared]:
    """The subscriptions among the documents, active from `at`."""
    read = list(declared)
    agents = {(d.tenant, d.metadata.name): d.spec for d in read if isinstance(d.spec, AgentSpec)}
    tenants = {d.tenant: of_tenant(d.spec) for d in read if isinstance(d.spec, TenantSpec)}
    return [
        _declare(document, _around(document, agents, tenants), at)
        for document in read
        if document.kind == "Subscription"
    ]


def _around(
    document: Document, agents: Mapping[tuple[str, str], AgentSpec], tenants: Mapping[str, Tenancy]
) -> Around:
    name = str(document.canonical()["agent"]).removeprefix("agent:")
    agent = agents.get((document.tenant, name))
    tenancy = tenants.get(document.tenant, TENANCY)
    if agent is None:
        return Around(tenancy=tenancy)
    identities = frozenset((identity.origin, identity.actor) for identity in agent.identities)
    return Around(identities, agent.budget, tenancy)


def _declare(document: Document, around: Around, at: datetime) -> Declared:
    spec = document.canonical()
    found = CatalogObject(
        kind="Subscription",
        tenant=document.tenant,
        name=document.metadata.name,
        id=str(uuid5(NAMESPACE_URL, f"{document.tenant}/{document.metadata.name}")),
        version=1,
        state=State.ACTIVE,
        spec=spec,
        created_by=spec["owner"],
        updated_at=at,
    )
    return Declared(
        found,
        document.spec.model_dump(mode="json", exclude_unset=True),
        lifecycle.Subscription(State.ACTIVE, 1),
        around,
        _compile(found, around, None),
        _schedule(found),
        spec["misfire"],
    )


def _schedule(found: CatalogObject) -> Schedule | None:
    try:
        return of_object(found)
    except ValueError as fault:
        raise Refused(f"{found.name}: {fault}") from None


def _compile(found: CatalogObject, around: Around, taken: Taken | None) -> Subscription:
    compiled = of_spec(
        SubscriptionSpec.model_validate(found.spec),
        tenant=found.tenant,
        name=found.name,
        version=found.version,
        state=State(found.state),
        identities=around.identities,
        tenancy=around.tenancy,
        agent_budget=around.agent_budget,
    )
    if taken is None:
        return compiled
    standing = replace(
        compiled.standing,
        revoked=taken == "revoked",
        owner_removed=taken == "owner_removed",
        agent_suspended=taken == "agent_suspended",
    )
    return replace(compiled, standing=standing)


def step(declared: Declared, verb: Verb, reason: str | None, at: datetime) -> Declared:
    """The subscription after one step of its life; Refused when the life does not allow it."""
    answer = lifecycle.decide(declared.life, Step(verb, ACTOR, reason or "simulated"))
    if isinstance(answer, lifecycle.Refusal):
        raise Refused(answer.message)
    life = declared.life
    for event in answer:
        life = lifecycle.evolve(life, event)
    update = {"state": str(life.state), "version": life.version, "updated_at": at}
    return _changed(replace(declared, life=life), declared.object.model_copy(update=update))


def revoke(declared: Declared, cause: Taken) -> Declared:
    """The subscription without the right to fire."""
    return _changed(replace(declared, taken=cause), declared.object)


def edit(declared: Declared, patch: Mapping[str, Any], reason: str | None, at: datetime) -> Declared:
    """The subscription with `patch` merged into its specification; Refused names every fault."""
    found = declared.object
    document = {
        "apiVersion": documents.API_VERSION,
        "kind": "Subscription",
        "metadata": {"name": found.name, "tenant": found.tenant},
        "spec": _merged(declared.written, patch),
    }
    read = documents.parse(orjson.dumps(document), simulated=True)
    if isinstance(read, Faults):
        raise Refused("; ".join(f"{fault.path}: {fault.message}" for fault in read))
    edited = found.model_copy(update={"spec": read[0].canonical()})
    return step(replace(declared, object=edited, written=document["spec"]), "edit", reason, at)


def _changed(declared: Declared, found: CatalogObject) -> Declared:
    compiled = _compile(found, declared.around, declared.taken)
    schedule = _schedule(found)
    if schedule is not None:
        schedule = reconcile(declared.schedule, schedule)
    misfire = found.spec["misfire"]
    return replace(declared, object=found, compiled=compiled, schedule=schedule, misfire=misfire)


def _merged(value: Any, patch: Any) -> Any:
    """RFC 7396: members of the patch replace, null removes."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(value) if isinstance(value, Mapping) else {}
    for name, part in patch.items():
        if part is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), part)
    return merged
