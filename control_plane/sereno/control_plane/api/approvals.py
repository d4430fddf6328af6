"""Routes of what waits for a person: approvals of the catalog, and answers to parked work."""

from typing import Annotated, Any, Final, Literal
from uuid import UUID

import orjson
from fastapi import APIRouter, Query, Request

from sereno.control_plane import approving
from sereno.control_plane.api import models
from sereno.control_plane.api.authorising import Access
from sereno.control_plane.api.changing import Entered
from sereno.control_plane.api.reading import Reader
from sereno.control_plane.api.refusing import refused
from sereno.control_plane.approving import Said
from sereno.control_plane.catalog.approval import Approval
from sereno.control_plane.catalog.refusal import Refusal
from sereno.control_plane.store import approvals
from sereno.envelope.identifiers import from_people, to_people
from sereno.mailbox.engine.problems import Problem

PREFIX: Final = "apr"
router = APIRouter(prefix="/v1")


@router.get("/approvals", tags=["approvals"], summary="What waits for a person, and what became of it")
async def list_approvals(
    request: Request,
    access: Reader,
    state: Annotated[
        Literal["pending", "approved", "denied", "superseded", "expired"] | None,
        Query(description="Only in this state."),
    ] = None,
    asked_by: Annotated[str | None, Query(description="Only what this principal asked for.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many at most.")] = 100,
) -> models.Approvals:
    """Newest first, each with exactly what is asked for; an agent sees its own."""
    whose = access.caller.name if access.caller.name.startswith("agent:") else asked_by
    async with request.app.state.engine.connect() as connection:
        found = await approvals.listed(connection, access.tenant, state=state, asked_by=whose, limit=limit)
    shown = [entry(one, access) for one in found]
    return models.Approvals(items=[one for one in shown if state in {None, one.state}])


@router.get("/approvals/{identifier}", tags=["approvals"], summary="One approval")
async def show_approval(identifier: str, request: Request, access: Reader) -> models.ApprovalEntry:
    """What is asked for, by whom, why it waits, and until when."""
    async with request.app.state.engine.connect() as connection:
        found = await approvals.one(connection, access.tenant, number(identifier))
    foreign = (
        access.caller.name.startswith("agent:") and found is not None and found.asked_by != access.caller.name
    )
    if found is None or foreign:
        raise Problem(404, "not_found", f"there is no approval {identifier} in tenant {access.tenant}")
    return entry(found, access)


@router.post("/approvals/{identifier}/approve", tags=["approvals"], summary="Release what is asked for")
async def approve(
    identifier: str, body: models.WordRequest, request: Request, access: Entered
) -> models.ResolvedAnswer:
    """The digest is that of what was seen; another text takes another approval. It is good once."""
    return await _resolve(request, access, identifier, Said(True, body.digest, body.reason))


@router.post("/approvals/{identifier}/deny", tags=["approvals"], summary="Refuse what is asked for")
async def deny(
    identifier: str, body: models.DenialRequest, request: Request, access: Entered
) -> models.ResolvedAnswer:
    """It is remembered: the same request by the same principal is refused from now on, with this reason."""
    return await _resolve(request, access, identifier, Said(False, body.digest, body.reason))


async def _resolve(request: Request, access: Access, identifier: str, said: Said) -> models.ResolvedAnswer:
    done = await approving.resolve(
        request.app.state.engine, access.tenant, number(identifier), said, by=access.caller, at=access.at
    )
    if isinstance(done, Refusal):
        raise refused([done])
    return models.ResolvedAnswer(**entry(done.approval, access).model_dump(), manifest=done.manifest)


@router.post("/answers/{message}", status_code=202, tags=["approvals"], summary="Answer parked work")
async def answer(
    message: str, body: models.AnswerRequest, request: Request, access: Entered
) -> models.AnswerAccepted:
    """The answer is data for the agent; the message goes on with it within a second, once."""
    try:
        prefix, number = from_people(message)
    except ValueError as fault:
        raise Problem(422, "bad_input", str(fault)) from fault
    if prefix not in {"", "msg"}:
        raise Problem(422, "bad_input", f"expected msg_…, not {prefix}_…")
    said: dict[str, Any] = {"outcome": body.outcome, "answer": body.answer, "reason": body.reason}
    told = {key: value for key, value in said.items() if value is not None}
    refusal = await approving.answer(
        request.app.state.engine,
        access.tenant,
        to_people("msg", str(number)),
        told,
        by=access.caller,
        at=access.at,
    )
    if refusal is not None:
        raise refused([refusal])
    return models.AnswerAccepted(
        message=to_people("msg", str(number)), tenant=access.tenant, outcome=body.outcome
    )


def number(identifier: str) -> UUID:
    """The approval that is meant. Raises `Problem`."""
    try:
        prefix, number = from_people(identifier)
    except ValueError as fault:
        raise Problem(422, "bad_input", str(fault)) from fault
    if prefix not in {"", PREFIX}:
        raise Problem(422, "bad_input", f"expected apr_…, not {prefix}_…")
    return UUID(str(number))


def entry(approval: Approval, access: Access) -> models.ApprovalEntry:
    """An approval as people and programs read it."""
    return models.ApprovalEntry(
        id=to_people(PREFIX, str(approval.id)),
        tenant=approval.subject.tenant,
        kind=approval.subject.kind,
        name=approval.subject.name,
        state=approval.now(access.at),
        asked_by=approval.asked_by,
        asked_at=approval.created_at,
        expires=approval.expires,
        waits=list(approval.reasons),
        digest=approval.digest,
        document=approval.document,
        wants=orjson.loads(approval.document),
        quorum=approval.quorum,
        approved_by=list(approval.approved_by),
        resolved_by=approval.resolved_by,
        reason=approval.reason,
    )
