"""`POST /v1/labels` and `GET /v1/subscriptions/{name}/quality`."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field

from sereno.envelope.identifiers import to_people
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.catalog.rights import facts_in
from sereno.execution_plane.deliveries.http import reach
from sereno.execution_plane.explain.asked import EXPECTED
from sereno.execution_plane.guards.condition import criterion_version
from sereno.execution_plane.guards.subscription import Criterion
from sereno.execution_plane.quality import labels, score
from sereno.execution_plane.quality.labels import SQL, Word
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.problems import Problem
from sereno.mailbox.principal import Principal
from sereno.subscriptions.policy.authority import Asking, may, of_subscription
from sereno.subscriptions.snapshot import CatalogObject


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class LabelRequest(_Shape):
    """Whether a verdict was right; `event` is a receipt, a message or the id of an event."""

    event: Annotated[str, Field(min_length=1, max_length=300)]
    label: Word
    subscription: str | None = None


class LabelAnswer(_Shape):
    """What was judged, and what is said of it now."""

    tenant: str
    event: str
    subscription: str
    met: bool
    confidence: float
    criterion_version: str
    label: Word


class Recheck(_Shape):
    """Since when, and what changed: `model`, `prompt`, `connector` or `tool`."""

    since: datetime
    reason: str


class CriterionQuality(_Shape):
    """One version of a criterion: what was judged by it, and how right that was by the labels. Judged, not calibrated."""

    criterion_version: str
    criterion: str | None
    min_confidence: float | None
    model: str | None
    in_force: bool
    met: int
    not_met: int
    errors: int
    labelled: int
    true_positives: int
    false_positives: int
    true_negatives: int
    false_negatives: int
    precision: float | None = Field(description="of the labelled that met; unknown where there is none")
    recall: float | None = Field(description="of the labelled that should have met")
    recheck_due: Recheck | None
    replayed_at: datetime | None
    replay: dict[str, Any] | None


class Quality(_Shape):
    """Of a subscription's condition, oldest criterion first."""

    tenant: str
    subscription: str
    calibrated: bool
    criteria: list[CriterionQuality]


def router(pool: AnyPool, catalog: Catalog, authenticate: Callable[..., Any]) -> APIRouter:
    """The routes over `pool`; `authenticate` is a FastAPI dependency that answers the principal or raises."""
    routes = APIRouter(prefix="/v1", tags=["conditions"])
    Caller = Annotated[Principal, Depends(authenticate)]  # noqa: N806 - a type

    @routes.post("/labels", summary="Say whether a verdict was right")
    async def label(
        body: LabelRequest,
        caller: Caller,
        tenant: Annotated[str | None, Query(description="default: where the event is found")] = None,
    ) -> LabelAnswer:
        tenants = reach(caller, catalog, tenant)
        async with pool.acquire() as conn, conn.transaction():
            found = await labels.meant_by(conn, tenants, body.event)
            if found is None:
                raise Problem(404, "not_found", f"nothing is known of {body.event}; expected {EXPECTED}")
            meant = await labels.verdict(conn, found, body.subscription)
            _require(catalog, caller, meant.tenant, meant.subscription)
            await labels.put(conn, meant, body.label, caller.name)
        return LabelAnswer(
            tenant=meant.tenant,
            event=to_people("rcp", meant.receiptid),
            subscription=meant.subscription,
            met=meant.met,
            confidence=meant.confidence,
            criterion_version=meant.criterion_version,
            label=body.label,
        )

    @routes.get("/subscriptions/{name}/quality", summary="How right a condition was, by what people said")
    async def quality(
        name: str,
        caller: Caller,
        tenant: Annotated[str | None, Query(description="default: where the name is found")] = None,
    ) -> Quality:
        declared = _declared(catalog, reach(caller, catalog, tenant), name)
        return await _quality(pool, declared)

    return routes


def _declared(catalog: Catalog, tenants: list[str], name: str) -> CatalogObject:
    found = [one for tenant in tenants for one in catalog.subscriptions(tenant) if one.name == name]
    if not found:
        raise Problem(404, "not_found", f"the subscription {name} is not known")
    if len(found) > 1:
        raise Problem(422, "bad_input", f"{name} exists in several tenants; name one: tenant")
    return found[0]


def _require(catalog: Catalog, caller: Principal, tenant: str, name: str) -> None:
    """Labels decide what goes live: they need the right to operate the subscription."""
    known = catalog.tenant(tenant)
    facts = None if known is None else facts_in(known.objects.values())
    declared = [one for one in catalog.subscriptions(tenant) if one.name == name]
    if facts is None or not declared:
        return
    owner = str(declared[0].spec.get("owner"))
    owner = owner if owner in facts.people or owner.startswith("agent:") else declared[0].created_by
    asking = Asking(caller.name, datetime.now(UTC))
    decision = may(facts, asking, "operate", of_subscription(name, owner))
    if not decision.allowed:
        raise Problem(
            403,
            "forbidden",
            f"{caller.name} may not label verdicts of {name} (rule {decision.rule})",
            rule=decision.rule,
            policy_version=decision.policy_version,
        )


async def _quality(pool: AnyPool, declared: CatalogObject) -> Quality:
    key = declared.tenant, declared.name
    async with pool.acquire() as conn, conn.transaction(isolation="repeatable_read", readonly=True):
        judged, labelled, criteria = [
            {row["criterion_version"]: row for row in await conn.fetch(SQL[name], *key)}
            for name in ("judged", "labelled", "criteria")
        ]
    now = _version(declared)
    known = list(dict.fromkeys([*criteria, *judged, *labelled]))
    return Quality(
        tenant=declared.tenant,
        subscription=declared.name,
        calibrated=False,
        criteria=[
            _criterion(version, judged.get(version), labelled.get(version), criteria.get(version), now)
            for version in known
        ],
    )


def _version(declared: CatalogObject) -> str | None:
    condition = declared.spec.get("condition")
    if condition is None:
        return None
    return criterion_version(Criterion(condition["criterion"], float(condition["min_confidence"])))


def _criterion(version: str, judged: Any, labelled: Any, kept: Any, now: str | None) -> CriterionQuality:
    due = None
    if kept is not None and kept["recheck_since"] is not None:
        due = Recheck(since=kept["recheck_since"], reason=kept["recheck_reason"])
    return CriterionQuality(
        criterion_version=version,
        criterion=kept and kept["criterion"],
        min_confidence=kept and kept["min_confidence"],
        model=kept and kept["model"],
        in_force=version == now,
        **{name: 0 if judged is None else judged[name] for name in ("met", "not_met", "errors")},
        **score.of(labelled).as_json(),
        recheck_due=due,
        replayed_at=kept and kept["replayed_at"],
        replay=kept and kept["replay"],
    )
