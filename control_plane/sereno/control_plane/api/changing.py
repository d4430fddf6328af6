"""Routes that change the catalog, and the comparison that changes nothing."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.datastructures import State as AppState

from sereno.control_plane import applying, recording
from sereno.control_plane.api import models, rendering, replaying
from sereno.control_plane.api.authentication import Authenticated
from sereno.control_plane.api.authorising import Access, entered
from sereno.control_plane.api.refusing import bad_documents, refused
from sereno.control_plane.applying import Applied
from sereno.control_plane.catalog.caller import Caller
from sereno.control_plane.catalog.item import Address, Kind
from sereno.control_plane.catalog.judging import sponsor
from sereno.control_plane.catalog.refusal import Refusal
from sereno.control_plane.catalog.selector import Selector
from sereno.control_plane.lifting import lift
from sereno.control_plane.minting import utc_now
from sereno.control_plane.operating import Operated, Verb, operate
from sereno.control_plane.store import projection
from sereno.envelope.identifiers import to_people
from sereno.mailbox.engine.problems import Problem
from sereno.subscriptions.faults import Fault, Faults
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.policy.authority import of_subscription

router = APIRouter(prefix="/v1")
Entered = Annotated[Access, Depends(entered)]


@router.post("/apply", tags=["catalog"], summary="Make the catalog be as the documents say")
async def apply(body: models.ApplyRequest, request: Request, caller: Authenticated) -> models.ApplyAnswer:
    """One transaction or none; applying the same again changes nothing."""
    state = request.app.state
    # A criterion that is edited stands in a document that has one; what asks nobody is planned once.
    if state.ask is not None and not (body.dry_run or body.without_replay) and "condition" in body.documents:
        await replaying.judge(request, await _apply(state, body, caller, dry_run=True), caller.name)
    applied = await _apply(state, body, caller, dry_run=body.dry_run)
    renderer: rendering.Renderer = state.renderer
    return renderer.applied(applied, dry_run=body.dry_run)


@router.post("/diff", tags=["catalog"], summary="Where catalog and documents differ")
async def diff(body: models.ApplyRequest, request: Request, caller: Authenticated) -> models.DiffAnswer:
    """What applying the documents would change."""
    return rendering.drift(await _apply(request.app.state, body, caller, dry_run=True, compare=True))


async def _apply(
    state: AppState, body: models.ApplyRequest, by: Caller, *, dry_run: bool, compare: bool = False
) -> Applied:
    applied = await applying.apply(
        state.engine,
        applying.Request(
            documents=body.documents,
            by=by,
            at=utc_now(),
            dry_run=dry_run,
            judged=state.judged,
            compare=compare,
            prune=_selector(body.prune),
            revive=_revive(body),
            reason=body.reason,
        ),
    )
    if isinstance(applied, Faults):
        raise bad_documents(applied)
    if not isinstance(applied, Applied):
        if not dry_run:
            async with state.engine.begin() as connection:
                await recording.attempt(connection, by.home, utc_now(), by.name, applied.items)
        raise refused(applied.items)
    return applied


def _selector(text: str | None) -> Selector | None:
    try:
        return Selector.parse(text) if text is not None else None
    except ValueError as fault:
        raise bad_documents(Faults.of([Fault("prune", str(fault))])) from None


def _revive(body: models.ApplyRequest) -> bool:
    if body.revive and not (body.reason or "").strip():
        raise bad_documents(Faults.of([Fault("reason", "reviving a deleted name needs a reason")]))
    return body.revive


async def move(
    request: Request, access: Access, kind: Kind, name: str, *, verb: Verb, reason: str
) -> models.MoveAnswer:
    """Take one step in the life of an object. Raises `Problem`."""
    if not reason.strip():
        raise Problem(422, "bad_input", f"{verb} needs a reason")
    address = Address(access.tenant, kind, name)
    done = await operate(
        request.app.state.engine, address, verb, by=access.caller, reason=reason, at=utc_now()
    )
    return moved(done)


def moved(done: Operated | Refusal) -> models.MoveAnswer:
    """The answer to a step. Raises `Problem`."""
    if isinstance(done, Refusal):
        raise refused([done])
    return models.MoveAnswer(
        name=done.item.name,
        tenant=done.item.address.tenant,
        version=done.item.version,
        state=done.item.state,
        manifest=done.manifest,
    )


@router.post("/subscriptions/{name}/pause", tags=["subscriptions"], summary="Stop a subscription for a while")
async def pause(name: str, body: models.MoveRequest, request: Request, access: Entered) -> models.MoveAnswer:
    """What arrives meanwhile is recorded and not kept."""
    return await move(request, access, "Subscription", name, verb="pause", reason=body.reason)


@router.post(
    "/subscriptions/{name}/resume", tags=["subscriptions"], summary="Let a paused subscription go on"
)
async def resume(
    name: str, body: models.ResumeRequest, request: Request, access: Entered
) -> models.MoveAnswer:
    """A pause ends, and so does what suspends it: from the manifest version in the answer on."""
    address, engine = Address(access.tenant, "Subscription", name), request.app.state.engine
    if not body.reason.strip():
        raise Problem(422, "bad_input", "resume needs a reason")
    async with engine.connect() as connection:
        item = await projection.one(connection, address)
    access.require("operate", of_subscription(name, sponsor(access.facts, item)) if item else None)
    by = access.caller.name
    lifted = await lift(engine, address, body.held, actor=by, reason=body.reason, at=utc_now())
    if lifted is None or item is None or item.state is State.PAUSED:
        return await move(request, access, "Subscription", name, verb="resume", reason=body.reason)
    return models.MoveAnswer(
        name=name,
        tenant=access.tenant,
        version=item.version,
        state=item.state,
        manifest=lifted.manifest,
        lifted=[to_people("sus", one.id) for one in lifted.suspensions],
    )


@router.post("/subscriptions/{name}/delete", tags=["subscriptions"], summary="End a subscription")
async def delete(name: str, body: models.MoveRequest, request: Request, access: Entered) -> models.MoveAnswer:
    """Its history stays, and its name yields only to a revival."""
    return await move(request, access, "Subscription", name, verb="delete", reason=body.reason)
