"""Apply and diff: documents in, one transaction or none, and what became of each object."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from sereno.control_plane import approving
from sereno.control_plane.catalog.caller import Caller
from sereno.control_plane.catalog.decider import fold
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.plan import Intent, Known, Minted, Step, plan
from sereno.control_plane.catalog.reference import address_of, references
from sereno.control_plane.catalog.refusal import Refusal, Refusals
from sereno.control_plane.catalog.selector import Selector
from sereno.control_plane.committing import commit
from sereno.control_plane.lifting import extend
from sereno.control_plane.minting import PathToken, new_id, path_token
from sereno.control_plane.store import endpoint_tokens, heads, projection, rights
from sereno.control_plane.store.event_store import StreamId, read_streams
from sereno.subscriptions.documents import Document, parse
from sereno.subscriptions.faults import Faults
from sereno.subscriptions.models import TenantSpec
from sereno.subscriptions.rate import Money
from sereno.subscriptions.reserves import without_reserve


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be applied, by whom, and how."""

    documents: str
    by: Caller
    at: datetime
    dry_run: bool = False
    judged: bool = False
    """Whether there is an evaluator of semantic conditions."""
    compare: bool = False
    """Only to compare: the right to read is enough."""
    prune: Selector | None = None
    revive: bool = False
    reason: str | None = None

    @property
    def actor(self) -> str:
        """By whom."""
        return self.by.name


@dataclass(frozen=True, slots=True)
class Applied:
    """Every object with its step, the path tokens of its endpoints, and the manifest versions that follow."""

    steps: tuple[Step, ...]
    tokens: Mapping[Address, str]
    manifests: Mapping[str, int]


async def apply(engine: AsyncEngine, request: Request) -> Applied | Faults | Refusals:
    """Bring the catalog to what the documents say; a dry run answers the same and changes nothing."""
    documents = parse(request.documents, judged=request.judged, tenant=request.by.home)
    if isinstance(documents, Faults):
        return documents
    tenants = {document.tenant for document in documents}
    foreign = sorted(tenant for tenant in tenants if not request.by.reaches(tenant))
    if foreign:
        # Said before anything of them is read: whether they exist shows in no answer.
        return Refusals(tuple(out_of_reach(tenant) for tenant in foreign))
    async with engine.connect() as connection:
        # The transaction is left without a commit whenever something stands against it.
        await heads.lock(connection, tenants)
        faults = Faults.of(without_reserve(documents, await _reserves(connection, tenants)))
        if faults:
            return faults
        known = await _known(connection, documents, tenants, request)
        if request.compare and known.judge is not None:
            answers = [known.judge.require(tenant, "read", "read the catalog") for tenant in sorted(tenants)]
            if unread := tuple(answer for answer in answers if isinstance(answer, Refusal)):
                return Refusals(unread)
            known = replace(known, judge=None)
        tokens = {address_of(document): path_token() for document in documents}
        steps = plan(documents, known, _minted(documents, tokens, request.at), _intent(request))
        if isinstance(steps, Faults | Refusals):
            return steps
        return await _carry_out(connection, steps, tokens, request)


async def _carry_out(
    connection: AsyncConnection,
    steps: tuple[Step, ...],
    tokens: Mapping[Address, PathToken],
    request: Request,
) -> Applied | Refusals:
    refusal = await commit(
        connection, steps, actor=request.actor, reason=request.reason, at=request.at, tokens=tokens
    )
    refusal = refusal or await approving.ask(connection, steps, by=request.by, at=request.at)
    if refusal is not None:
        return Refusals((refusal,))
    await extend(connection, steps, actor=request.actor, reason=request.reason, at=request.at)
    endpoints = [step.after.address for step in steps if step.after.address.kind == "Endpoint"]
    existing = [step.before.address for step in steps if step.before] if request.dry_run else endpoints
    applied = Applied(
        steps,
        await endpoint_tokens.of(connection, [address for address in endpoints if address in existing]),
        await heads.versions(connection, {step.after.address.tenant for step in steps}),
    )
    if not request.dry_run:
        await connection.commit()
    return applied


async def _reserves(connection: AsyncConnection, tenants: set[str]) -> dict[str, Money | None]:
    """What an activation reserves in each tenant where nobody says so."""
    found: dict[str, Money | None] = {}
    for tenant in tenants:
        item = await projection.one(connection, Address(tenant, "Tenant", tenant))
        live = item is not None and item.live
        found[tenant] = TenantSpec.model_validate(item.spec).reserve if live and item is not None else None
    return found


async def _known(
    connection: AsyncConnection, documents: Sequence[Document], tenants: set[str], request: Request
) -> Known:
    wanted = [address_of(document) for document in documents]
    streams = {StreamId(address.tenant, address.stream): address for address in wanted}
    events = await read_streams(connection, list(streams))
    folded = (fold(address, events[stream]) for stream, address in streams.items())
    referred = {target for document in documents for _, target in references(document)}
    prunable = await _prunable(connection, tenants, request)
    return Known(
        items={item.address: item for item in folded if item is not None},
        live=await projection.existing(connection, referred),
        prunable=tuple(prunable),
        dependents=await projection.dependents(connection, prunable),
        judge=await rights.judge(connection, tenants, request.by, request.at, documents),
        connectors=await projection.specs(connection, [one for one in referred if one.kind == "Connector"]),
    )


async def _prunable(connection: AsyncConnection, tenants: set[str], request: Request) -> list[Item]:
    reached = [tenant for tenant in tenants if request.by.reaches(tenant)]
    return await projection.prunable(connection, reached, request.prune) if request.prune else []


def _minted(
    documents: Sequence[Document], tokens: Mapping[Address, PathToken], at: datetime
) -> tuple[Minted, ...]:
    return tuple(Minted(new_id(at), tokens[address_of(document)].sha256) for document in documents)


def out_of_reach(tenant: str) -> Refusal:
    """What everybody is told of a tenant that is not theirs, whether it exists or not."""
    return Refusal("forbidden", f"this token does not reach tenant {tenant}")


def _intent(request: Request) -> Intent:
    return Intent(request.actor, request.at, request.reason, request.revive)
