"""Routes of principals, tokens and agents' suspension: who is known, and by what they show who they are."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal, get_args

from fastapi import APIRouter, Depends, Request

from sereno.control_plane import identifying
from sereno.control_plane.api import models
from sereno.control_plane.api.authorising import Access, needs
from sereno.control_plane.api.changing import Entered, move, moved
from sereno.control_plane.api.reading import After, Limit, Reader, page
from sereno.control_plane.api.refusing import bad_documents, refused, unknown
from sereno.control_plane.api.rendering import Renderer
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.principal import ROLES, kind_of, unknown_roles
from sereno.control_plane.catalog.refusal import Refusal
from sereno.control_plane.minting import utc_now
from sereno.control_plane.store import projection
from sereno.subscriptions.faults import Fault, Faults
from sereno.subscriptions.policy.decision import ROLES as INHERITED
from sereno.subscriptions.policy.decision import Action

router = APIRouter(prefix="/v1")
Administrator = Annotated[Access, Depends(needs("administer"))]
# What a token may be narrowed to: actions of the policy, and the mailboxes of agents.
SCOPES = get_args(Action)
AGENT_SCOPE = "agent:"


@router.get("/whoami", tags=["identity"], summary="Whose token this is")
async def whoami(access: Entered) -> models.WhoAmI:
    """Principal, tenant, roles and scopes."""
    known = access.facts.subject(access.caller.name, access.at)
    roles = frozenset(known.roles) if known else frozenset()
    return models.WhoAmI(
        principal=access.caller.name,
        tenant=access.tenant,
        every_tenant=access.caller.tenant != access.tenant,
        known=known is not None,
        roles=sorted(roles.union(*(more for role, more in INHERITED.items() if role in roles))),
        scopes=sorted(access.caller.scopes),
    )


@router.get("/principals", tags=["identity"], summary="The declared principals")
async def list_principals(
    request: Request, access: Reader, after: After = None, limit: Limit = 1000
) -> models.Listing[models.CatalogEntry]:
    """By name; agents are principals too and are listed as agents."""
    return await page(request, access.tenant, "Principal", after, limit)


@router.get("/principals/{name}", tags=["identity"], summary="One principal")
async def show_principal(name: str, request: Request, access: Reader) -> models.CatalogEntry:
    """Also when it was removed."""
    async with request.app.state.engine.connect() as connection:
        item = await projection.one(connection, Address(access.tenant, "Principal", name))
    if item is None:
        raise unknown(Address(access.tenant, "Principal", name))
    renderer: Renderer = request.app.state.renderer
    return renderer.entry(item)


@router.post("/principals", status_code=201, tags=["identity"], summary="Declare a principal")
async def add_principal(
    body: models.PrincipalRequest, request: Request, access: Administrator
) -> models.MoveAnswer:
    """The word before the colon is its kind: user, service or node."""
    wanted = _principal(body.name, body)
    done = await identifying.declare(
        request.app.state.engine, access.tenant, wanted, by=access.caller, at=access.at, reason=body.reason
    )
    return moved(done)


@router.post("/principals/{name}/edit", tags=["identity"], summary="Give a principal other roles")
async def edit_principal(
    name: str, body: models.RolesRequest, request: Request, access: Administrator
) -> models.MoveAnswer:
    """These roles and no others."""
    done = await identifying.edit(
        request.app.state.engine,
        access.tenant,
        _principal(name, body),
        by=access.caller,
        at=access.at,
        reason=body.reason,
    )
    return moved(done)


def _principal(name: str, body: models.RolesRequest) -> identifying.Principal:
    faults = []
    if kind_of(name) is None:
        faults.append(Fault("name", "expected a principal such as user:marta, service:crm or node:edge-1"))
    faults += [
        Fault("roles", f"there is no role {role}; there is {', '.join(ROLES)}")
        for role in unknown_roles(body.roles)
    ]
    if faults:
        raise bad_documents(Faults.of(faults))
    return identifying.Principal(name, tuple(body.roles), body.about)


@router.post("/principals/{name}/{verb}", tags=["identity"], summary="Suspend, resume or remove a principal")
async def move_principal(
    name: str,
    verb: Literal["suspend", "resume", "remove"],
    body: models.MoveRequest,
    request: Request,
    access: Administrator,
) -> models.RemovalAnswer:
    """What it owned keeps its history and wakes nobody until another takes it over."""
    verbs: dict[str, Literal["pause", "resume", "delete"]] = {"suspend": "pause", "remove": "delete"}
    done = await move(request, access, "Principal", name, verb=verbs.get(verb, "resume"), reason=body.reason)
    async with request.app.state.engine.connect() as connection:
        owned = await projection.of_owner(connection, access.tenant, name) if verb != "resume" else []
    return models.RemovalAnswer(**done.model_dump(), left_behind=[item.name for item in owned])


@router.post("/agents/{name}/suspend", tags=["agents"], summary="Suspend an agent")
async def suspend_agent(
    name: str, body: models.MoveRequest, request: Request, access: Entered
) -> models.MoveAnswer:
    """Nothing wakes it, and what it holds is told to stop."""
    return await move(request, access, "Agent", name, verb="pause", reason=body.reason)


@router.post("/agents/{name}/resume", tags=["agents"], summary="Let a suspended agent go on")
async def resume_agent(
    name: str, body: models.MoveRequest, request: Request, access: Entered
) -> models.MoveAnswer:
    """It is awake from the manifest version in the answer."""
    return await move(request, access, "Agent", name, verb="resume", reason=body.reason)


@router.get("/tokens", tags=["identity"], summary="The tokens that are valid, without their text")
async def list_tokens(
    request: Request, access: Entered, after: After = None, limit: Limit = 1000
) -> models.Listing[models.TokenEntry]:
    """An administrator sees all of the tenant, everybody else their own."""
    own = not access.may("administer").allowed
    async with request.app.state.engine.connect() as connection:
        found = await projection.page(connection, access.tenant, "Token", after=after or "", limit=limit + 1)
        used = await identifying.last_used(connection, access.tenant)
    shown = [item for item in found[:limit] if not own or item.spec["principal"] == access.caller.name]
    following = found[limit - 1].name if len(found) > limit else None
    return models.Listing(items=[_token(item, used) for item in shown], next=following)


@router.post("/tokens", status_code=201, tags=["identity"], summary="Issue a token")
async def issue_token(body: models.TokenRequest, request: Request, access: Entered) -> models.TokenAnswer:
    """Its text is in the answer and nowhere else."""
    for place, scope in enumerate(body.scopes):
        if scope not in SCOPES and not scope.startswith(AGENT_SCOPE):
            message = f"expected agent:NAME or one of {', '.join(SCOPES)}"
            raise bad_documents(Faults.of([Fault(f"scopes[{place}]", message)]))
    if body.expires is not None and body.expires <= utc_now():
        raise bad_documents(Faults.of([Fault("expires", "expected an instant that is still to come")]))
    done = await identifying.issue(
        request.app.state.engine,
        access.tenant,
        body.principal,
        scopes=body.scopes,
        expires=body.expires,
        label=body.label,
        by=access.caller,
        at=access.at,
    )
    if isinstance(done, Refusal):
        raise refused([done])
    return models.TokenAnswer(token=done.text, manifest=done.manifest, **_token(done.item, {}).model_dump())


@router.post("/tokens/{name}/revoke", tags=["identity"], summary="End a token for good")
async def revoke_token(
    name: str, body: models.MoveRequest, request: Request, access: Entered
) -> models.MoveAnswer:
    """It opens nothing here any more at once, and nothing on the execution plane within a second."""
    done = await identifying.revoke(
        request.app.state.engine, access.tenant, name, by=access.caller, at=access.at, reason=body.reason
    )
    return moved(done)


def _token(item: Item, used: Mapping[str, datetime]) -> models.TokenEntry:
    return models.TokenEntry(
        id=item.name,
        tenant=item.address.tenant,
        principal=item.spec["principal"],
        scopes=list(item.spec.get("scopes", ())),
        label=item.spec.get("label"),
        expires=item.spec.get("expires"),
        created_by=item.created_by,
        created_at=item.created_at,
        last_used_at=used.get(item.name),
    )
