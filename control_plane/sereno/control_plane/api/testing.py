"""Routes that let the execution plane judge now, with a subscription as it stands or as it might: nothing is woken."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from sereno.control_plane.api.authorising import Access, entered, forbidden
from sereno.control_plane.api.refusing import bad_documents, unknown
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.judging import sponsor
from sereno.control_plane.store import projection
from sereno.mailbox.engine.asking import Refused
from sereno.mailbox.engine.problems import Problem
from sereno.subscriptions.documents import NO_EVALUATOR, Document, parse
from sereno.subscriptions.faults import Faults
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.models import SubscriptionSpec
from sereno.subscriptions.policy.authority import Wake, may_observe, of_subscription
from sereno.subscriptions.policy.remedy import remedy, sentence
from sereno.subscriptions.snapshot import CatalogObject

MOST_EVENTS = 50
router = APIRouter(prefix="/v1", tags=["conditions"])
Entered = Annotated[Access, Depends(entered)]
_NOBODY = UUID(int=0)


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TestRequest(_Shape):
    """What to judge, and with what; without anything the subscription as it stands, over the events that came last."""

    __test__ = False

    document: Annotated[str, Field(max_length=1_000_000)] | None = Field(
        None, description="YAML with the subscription as it might be; it is not applied."
    )
    criterion: Annotated[str, Field(min_length=1, max_length=10_000)] | None = Field(
        None, description="Another criterion than the subscription's."
    )
    events: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MOST_EVENTS)] | None = Field(
        None,
        description="Received events as flat CloudEvents JSON; what the platform writes may be left out.",
    )
    most: int = Field(10, ge=1, le=MOST_EVENTS, description="How many of the events that came last.")


class Verdict(_Shape):
    """Judged, not verified."""

    fires: bool
    confidence: float
    evidence: list[dict[str, Any]]
    calibrated: bool


class EvaluationFault(_Shape):
    """Why there is no verdict; it never wakes."""

    kind: str
    detail: str


class TestedItem(_Shape):
    """One event: whether it concerns the subscription, and what was judged; `meets` is what would lead to a wake-up."""

    __test__ = False

    event: str
    receipt: str | None
    matches: bool
    misses: str | None = Field(description="Why it does not concern the subscription.")
    input: str | None = Field(
        description="Hash of criterion and data as judged; the same in the live verdict."
    )
    evaluator: str | None
    model: str | None
    verdict: Verdict | None
    error: EvaluationFault | None
    suspicious: list[str] = Field(description="Signs by which it reads like an instruction to a model.")
    held: bool = Field(description="It was not judged because of them.")
    meets: bool


class Cost(_Shape):
    """Money in one currency."""

    amount: str
    currency: str


class TestUsage(_Shape):
    """What the test took; nothing where each verdict was still remembered."""

    __test__ = False

    calls: int
    input_tokens: int
    output_tokens: int
    cost: list[Cost]


class TestAnswer(_Shape):
    """What the condition says now. Nobody was woken or told, no cursor moved, no dedup key was written."""

    __test__ = False

    tenant: str
    subscription: str
    criterion: str
    criterion_version: str
    min_confidence: float
    observed: str = Field(description="given, or received: the events that came last from the source")
    items: list[TestedItem]
    usage: TestUsage


@router.post("/subscriptions/{name}/test", summary="What its condition says now; wakes nobody")
async def test_now(name: str, body: TestRequest, request: Request, access: Entered) -> TestAnswer:
    """Works in any state but deleted, and on what was not applied; metered and limited in number."""
    meant = await subject(request, access, name, body.document, body.criterion)
    question = {
        "subscription": meant.model_dump(mode="json"),
        "events": body.events,
        "most": body.most,
        "by": access.caller.name,
    }
    return TestAnswer.model_validate(await answer(request, "test", access.tenant, question))


class ReplayRequest(_Shape):
    """What to replay: the subscription as it stands, unless something else is given."""

    document: Annotated[str, Field(max_length=1_000_000)] | None = Field(
        None, description="YAML with the subscription as it might be; it is not applied."
    )
    criterion: Annotated[str, Field(min_length=1, max_length=10_000)] | None = None


class ReplayScore(_Shape):
    """Labelled verdicts by what was judged, and how many were right."""

    right: int
    labelled: int
    true_positives: int
    false_positives: int
    true_negatives: int
    false_negatives: int
    precision: float | None
    recall: float | None


class ReplayedItem(_Shape):
    """A labelled event that is right now and was wrong, or the reverse."""

    event: str
    meant: bool
    met: bool


class ReplayAnswer(_Shape):
    """How right the criterion is over what people labelled, beside how right the verdicts were."""

    criterion_version: str
    labelled: int
    gone: int = Field(description="labelled events that are not kept any more")
    errors: int
    before: ReplayScore
    after: ReplayScore
    changed: list[ReplayedItem]
    usage: TestUsage


@router.post("/subscriptions/{name}/replay", summary="Judge what people labelled again; wakes nobody")
async def replay(name: str, body: ReplayRequest, request: Request, access: Entered) -> ReplayAnswer:
    """With the criterion as it stands or might stand; metered, and limited in number together with tests."""
    meant = await subject(request, access, name, body.document, body.criterion)
    return await replayed(request, access.tenant, meant, access.caller.name)


async def replayed(request: Request, tenant: str, meant: CatalogObject, by: str) -> ReplayAnswer:
    """The replay of this subscription. Raises `Problem`."""
    question = {"subscription": meant.model_dump(mode="json"), "by": by}
    return ReplayAnswer.model_validate(await answer(request, "replay", tenant, question))


async def answer(request: Request, kind: str, tenant: str, question: dict[str, Any]) -> dict[str, Any]:
    """What the execution plane answers. Raises `Problem`."""
    ask = request.app.state.ask
    if ask is None:
        raise Problem(503, "unavailable", "this process is not connected to the execution plane")
    try:
        told: dict[str, Any] = await ask(kind, tenant, question)
    except Refused as refusal:
        raise Problem(refusal.status, refusal.code, refusal.detail) from refusal
    return told


async def subject(
    request: Request, access: Access, name: str, document: str | None, criterion: str | None
) -> CatalogObject:
    """The subscription to judge with, if the caller may. Raises `Problem`.

    A judgement costs money and shows what the source says: it needs a right to the subscription and one to the source.
    """
    address = Address(access.tenant, "Subscription", name)
    async with request.app.state.engine.connect() as connection:
        item = await projection.one(connection, address)
    _may_use(access, item, name)
    written = None if document is None else _written(document, access.tenant, name)
    if written is None and item is None:
        raise unknown(address)
    if written is None and item is not None and not item.live:
        raise Problem(409, "deleted", f"{address} was deleted")
    meant = _meant(access, name, item, written)
    _may_see(access, meant)
    if not request.app.state.judged:
        raise Problem(409, "no_evaluator", NO_EVALUATOR)
    return meant.model_copy(update={"spec": _with_criterion(meant.spec, criterion)})


def _written(text: str, tenant: str, name: str) -> Document:
    found = parse(text, judged=True, tenant=tenant)
    if isinstance(found, Faults):
        raise bad_documents(found)
    mine = [one for one in found if one.kind == "Subscription" and one.metadata.name == name]
    if not mine:
        raise Problem(422, "bad_input", f"document: expected the subscription {name}")
    if mine[0].tenant != tenant:
        raise Problem(422, "bad_input", f"document: expected tenant {tenant}, found {mine[0].tenant}")
    return mine[0]


def _meant(access: Access, name: str, item: Item | None, written: Document | None) -> CatalogObject:
    return CatalogObject(
        kind="Subscription",
        tenant=access.tenant,
        name=name,
        id=str(_NOBODY if item is None else item.id),
        version=item.version if item is not None and written is None else 0,
        state=(State.DRAFT if item is None else item.state).value,
        spec=dict(item.spec)
        if written is None and item is not None
        else written.canonical()
        if written
        else {},
        created_by=access.caller.name if item is None else item.created_by,
        updated_at=access.at,
    )


def _with_criterion(spec: dict[str, Any], criterion: str | None) -> dict[str, Any]:
    if criterion is not None:
        condition = {**(spec.get("condition") or {}), "criterion": criterion}
        changed = SubscriptionSpec.model_validate({**spec, "condition": condition})
        return changed.model_dump(mode="json", exclude_none=True)
    if spec.get("condition") is None:
        raise Problem(
            422, "bad_input", "condition: the subscription has none, and no criterion was given to judge by"
        )
    return spec


def _may_use(access: Access, item: Item | None, name: str) -> None:
    if access.may("subscribe").allowed:
        return
    mine = None if item is None else of_subscription(name, sponsor(access.facts, item))
    access.require("subscribe" if mine is None else "operate", mine)


def _may_see(access: Access, meant: CatalogObject) -> None:
    asking, wake = access.caller.asking(access.tenant, access.at), Wake.of(meant.spec)
    decision = may_observe(access.facts, asking, wake)
    if not decision.allowed:
        command = remedy(access.facts, asking, "observe", decision, wake)
        raise forbidden(sentence(asking, f"observe {wake.source}", decision, command), decision, command)
