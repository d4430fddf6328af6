"""Routes of grants, prohibitions, policies, and of the question who may do what."""

import re
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import AwareDatetime

from sereno.control_plane import granting, handing_over
from sereno.control_plane.api import models
from sereno.control_plane.api.changing import Entered, moved
from sereno.control_plane.api.reading import After, Limit, Reader, page
from sereno.control_plane.api.refusing import bad_documents, refused
from sereno.control_plane.applying import Applied
from sereno.control_plane.catalog.item import Address
from sereno.control_plane.store import history
from sereno.mailbox.engine.problems import Problem
from sereno.subscriptions.faults import Faults
from sereno.subscriptions.policy.authority import Asking, Wake, may_observe, may_wake
from sereno.subscriptions.policy.decision import Decision
from sereno.subscriptions.policy.facts import Facts
from sereno.subscriptions.policy.remedy import remedy

router = APIRouter(prefix="/v1")
_PRINCIPAL = re.compile(r"(user|team|service|agent):[A-Za-z0-9][A-Za-z0-9._@+-]{0,126}")


@router.get("/grants", tags=["policy"], summary="Grants and standing prohibitions")
async def list_grants(
    request: Request, access: Reader, after: After = None, limit: Limit = 1000
) -> models.Listing[models.CatalogEntry]:
    """By name."""
    return await page(request, access.tenant, "Grant", after, limit)


@router.post("/grants", status_code=201, tags=["policy"], summary="Give a grant, or forbid something")
async def add_grant(body: models.GrantRequest, request: Request, access: Entered) -> models.GrantAnswer:
    """In force on the execution plane within a second; a prohibition wins over every grant."""
    access.require("stop" if body.deny else "grant")
    spec = body.model_dump(mode="json", exclude_none=True, exclude={"name"})
    if spec.get("agent") and not spec.get("rights"):
        spec["rights"] = ["use", "wake"]
    done = await granting.add(
        request.app.state.engine, access.tenant, spec, name=body.name, by=access.caller, at=access.at
    )
    if isinstance(done, Faults):
        raise bad_documents(done)
    if not isinstance(done, Applied):
        raise refused(done.items)
    item = done.steps[0].after
    return models.GrantAnswer(
        name=item.name,
        tenant=access.tenant,
        version=item.version,
        state=item.state,
        spec=dict(item.spec),
        manifest=done.manifests[access.tenant],
    )


@router.post("/grants/{name}/remove", tags=["policy"], summary="Take a grant back, or lift a prohibition")
async def remove_grant(
    name: str, body: models.MoveRequest, request: Request, access: Entered
) -> models.MoveAnswer:
    """What rested on it alone wakes nobody any more; its history stays."""
    done = await granting.remove(
        request.app.state.engine, access.tenant, name, by=access.caller, at=access.at, reason=body.reason
    )
    return moved(done)


@router.post(
    "/subscriptions/{name}/reassign", tags=["subscriptions"], summary="Let another answer for a subscription"
)
async def reassign(
    name: str, body: models.ReassignRequest, request: Request, access: Entered
) -> models.MoveAnswer:
    """The new owner's rights count from now on; what it uses, they need."""
    if _PRINCIPAL.fullmatch(body.owner) is None:
        raise Problem(422, "bad_input", "owner: expected a principal such as user:marta or team:support")
    access.require("subscribe")
    done = await handing_over.reassign(
        request.app.state.engine,
        Address(access.tenant, "Subscription", name),
        owner=body.owner,
        by=access.caller,
        at=access.at,
        reason=body.reason,
    )
    return moved(done)


@router.get("/policy", tags=["policy"], summary="The policies that decide")
async def show_policy(access: Reader) -> models.PolicyAnswer:
    """The shipped ones and the tenant's own, with the version that stands beside each decision."""
    policy = access.facts.policy
    return models.PolicyAnswer(version=policy.version, policies=policy.policies, schema_text=policy.schema)


@router.get("/can", tags=["policy"], summary="Who may have whom woken, by which rule")
async def can(  # noqa: PLR0917 - query parameters, which FastAPI passes by name
    request: Request,
    access: Reader,
    who: Annotated[str, Query(description="a principal such as user:marta")],
    agent: Annotated[str, Query(description="the agent, such as agent:triage")],
    source: Annotated[str | None, Query(description="such as webhook/zendesk or time")] = None,
    as_of: Annotated[AwareDatetime | None, Query(description="as it was then; now, if not given")] = None,
) -> models.CanAnswer:
    """Each decision with its rule, and the command that would allow what is not."""
    if as_of is not None and as_of > access.at:
        raise Problem(422, "bad_input", "as_of: expected an instant that has passed")
    facts = access.facts if as_of is None else await _then(request, access.tenant, as_of)
    asking = Asking(who, as_of or access.at)
    wake = Wake(agent.removeprefix("agent:"), source or "time")
    found = {"wake": may_wake(facts, asking, wake)}
    if source is not None:
        found["observe"] = may_observe(facts, asking, wake)
    answers = [_answer(facts, asking, action, decision, wake) for action, decision in found.items()]
    return models.CanAnswer(
        who=who,
        agent=f"agent:{wake.agent}",
        source=source,
        as_of=asking.at,
        allowed=all(decision.allowed for decision in found.values()),
        policy_version=facts.policy.version,
        decisions=answers,
    )


def _answer(facts: Facts, asking: Asking, action: Any, decision: Decision, wake: Wake) -> models.CanDecision:
    command = None if decision.allowed else remedy(facts, asking, action, decision, wake)
    return models.CanDecision(action=action, allowed=decision.allowed, rule=decision.rule, command=command)


async def _then(request: Request, tenant: str, at: datetime) -> Facts:
    async with request.app.state.engine.connect() as connection:
        return await history.facts(connection, tenant, at)
