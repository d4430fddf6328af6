"""Routes of the mailbox; every refusal is a problem that names the field."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Depends, Query, Request

from sereno.envelope.identifiers import from_people, to_people
from sereno.mailbox import listing, notices
from sereno.mailbox.audit.intents import Intent
from sereno.mailbox.bearer import LeaseBearers
from sereno.mailbox.engine.problems import Problem
from sereno.mailbox.http import shapes
from sereno.mailbox.http.authentication import Authenticate, Callers
from sereno.mailbox.lease_items import Answer
from sereno.mailbox.principal import Principal
from sereno.mailbox.verbs import Mailbox

T = TypeVar("T")
KnowsAgent = Callable[[str, str], bool]
"""Answers whether this tenant has declared this agent."""

Limit = Annotated[int, Query(ge=1, le=1000)]
Name = Annotated[shapes.Stored | None, Query(min_length=1, max_length=500)]
Age = Annotated[float | None, Query(ge=0, le=shapes.MAX_AGE_SECONDS, allow_inf_nan=False)]


def router(
    mailbox: Mailbox,
    authenticate: Authenticate,
    *,
    bearers: LeaseBearers,
    knows_agent: KnowsAgent,
    intent: Intent,
) -> APIRouter:
    """The worker API and the lists, over one mailbox; `intent` records what a person is about to do to messages."""
    callers = Callers(authenticate, bearers)
    routes = APIRouter(prefix="/v1")
    _claims(routes, mailbox, callers, bearers, knows_agent)
    _verbs(routes, mailbox, callers)
    _sayings(routes, mailbox, callers)
    _operations(routes, mailbox, callers, knows_agent, intent)
    _lists(routes, mailbox, callers, knows_agent)
    return routes


def _claims(
    routes: APIRouter, mailbox: Mailbox, callers: Callers, bearers: LeaseBearers, knows_agent: KnowsAgent
) -> None:
    @routes.post("/mailboxes/{agent}/claim", tags=["mailbox"], summary="Lease ready messages")
    async def claim(
        agent: str,
        body: shapes.ClaimBody,
        request: Request,
        caller: Annotated[Principal, Depends(callers.member)],
        tenant: str | None = None,
    ) -> shapes.ClaimAnswer:
        home = _reachable(caller, tenant, agent, knows_agent)

        async def connected() -> bool:
            return not await request.is_disconnected()

        claimed = await mailbox.claim(
            home,
            agent,
            max=body.max,
            lease_seconds=body.lease_seconds,
            wait_seconds=body.wait_seconds,
            incarnation=body.incarnation,
            principal=caller,
            connected=connected,
        )
        shown = [shapes.MessageShape.of(one, bearers.issue(one.lease.token)) for one in claimed]
        return shapes.ClaimAnswer(messages=shown)


def _verbs(routes: APIRouter, mailbox: Mailbox, callers: Callers) -> None:
    holder = Depends(callers.holder)

    @routes.post("/leases/renew", tags=["leases"], summary="Keep leases", response_model_exclude_none=True)
    async def renew(body: shapes.RenewBody, caller: Annotated[Principal, holder]) -> shapes.Answers:
        return await _answers(mailbox.renew([item.item() for item in body.items], caller))

    @routes.post(
        "/leases/ack", tags=["leases"], summary="Close work as done", response_model_exclude_none=True
    )
    async def ack(body: shapes.AckBody, caller: Annotated[Principal, holder]) -> shapes.Answers:
        return await _answers(mailbox.ack([item.item() for item in body.items], caller))

    @routes.post(
        "/leases/release", tags=["leases"], summary="Give work back", response_model_exclude_none=True
    )
    async def release(body: shapes.ReleaseBody, caller: Annotated[Principal, holder]) -> shapes.Answers:
        return await _answers(mailbox.release([item.item() for item in body.items], caller))

    @routes.post(
        "/leases/check", tags=["leases"], summary="May they still act?", response_model_exclude_none=True
    )
    async def check(body: shapes.CheckBody, caller: Annotated[Principal, holder]) -> shapes.Answers:
        return await _answers(mailbox.check([item.token for item in body.items], caller))


def _sayings(routes: APIRouter, mailbox: Mailbox, callers: Callers) -> None:
    holder = Depends(callers.holder)

    @routes.post("/leases/park", tags=["leases"], summary="Set work aside", response_model_exclude_none=True)
    async def park(body: shapes.ParkBody, caller: Annotated[Principal, holder]) -> shapes.Answers:
        items = [_read(f"items.{n}.dependency", item.item) for n, item in enumerate(body.items)]
        return await _answers(mailbox.park(items, caller))

    @routes.post(
        "/leases/emit", tags=["leases"], summary="Emit events of the agent", response_model_exclude_none=True
    )
    async def emit(body: shapes.EmitBody, caller: Annotated[Principal, holder]) -> shapes.Answers:
        try:
            return await _answers(mailbox.emit([item.item() for item in body.items], caller))
        except RuntimeError as fault:
            raise Problem(503, "no_emitter", str(fault)) from fault


def _operations(
    routes: APIRouter, mailbox: Mailbox, callers: Callers, knows_agent: KnowsAgent, intent: Intent
) -> None:
    member = Depends(callers.member)

    @routes.post("/messages/{identifier}/resume", tags=["mailbox"], summary="Answer parked work")
    async def resume(
        identifier: str, body: shapes.ResumeBody, caller: Annotated[Principal, member]
    ) -> dict[str, str]:
        _prefix, uuid = _read("path.identifier", lambda: from_people(identifier))
        found = await listing.message(mailbox.pool, uuid, caller)
        if found is None:
            raise Problem(404, "not_found", f"there is no message {identifier}")
        said = {"answer": body.answer}
        await intent(
            found["tenant"], caller.name, "message.answered", f"message/{to_people('msg', uuid)}", said
        )
        if not await mailbox.resume(found["tenant"], uuid, body.answer, caller.name):
            raise Problem(409, "not_parked", f"message {identifier} is {found['state']}, not parked")
        return {"id": identifier, "state": "ready"}

    @routes.post("/mailboxes/{agent}/redrive", tags=["mailbox"], summary="Bring the dead back")
    async def redrive(
        agent: str,
        body: shapes.OperationBody,
        caller: Annotated[Principal, member],
        tenant: str | None = None,
    ) -> shapes.Count:
        home = _reachable(caller, tenant, agent, knows_agent)
        which = _read("body.filter.ids", lambda: body.filter.filter(agent))
        await _intend(partial(intent, home, caller.name, "mailbox.redriven", f"mailbox/{agent}"), body)
        done = mailbox.redrive(home, which, reason=body.reason, principal=caller.name, preview=body.preview)
        return shapes.Count(count=await _refusing(done))

    @routes.post("/mailboxes/{agent}/dead-letter", tags=["mailbox"], summary="End open messages")
    async def dead_letter(
        agent: str,
        body: shapes.OperationBody,
        caller: Annotated[Principal, member],
        tenant: str | None = None,
    ) -> shapes.Count:
        home = _reachable(caller, tenant, agent, knows_agent)
        which = _read("body.filter.ids", lambda: body.filter.filter(agent))
        await _intend(partial(intent, home, caller.name, "mailbox.dead_lettered", f"mailbox/{agent}"), body)
        done = mailbox.dead_letter(
            home, which, reason=body.reason, principal=caller.name, preview=body.preview
        )
        return shapes.Count(count=await _refusing(done))


async def _intend(deed: Callable[[Mapping[str, Any]], Awaitable[None]], body: shapes.OperationBody) -> None:
    """A look at how many it would be is nothing done, and what is refused for its reason neither."""
    if body.reason.strip() and not body.preview:
        await deed(body.model_dump(mode="json"))


def _lists(routes: APIRouter, mailbox: Mailbox, callers: Callers, knows_agent: KnowsAgent) -> None:
    member = Depends(callers.member)

    @routes.get("/mailboxes", tags=["mailbox"], summary="Mailboxes with open or dead messages")
    async def mailboxes(caller: Annotated[Principal, member], tenant: str | None = None) -> dict[str, Any]:
        who = caller.reader()
        return {"mailboxes": await listing.mailboxes(mailbox.pool, _scope(who, tenant), who)}

    @routes.get(
        "/mailboxes/{agent}/messages", tags=["mailbox"], summary="Messages of a mailbox, newest first"
    )
    async def messages(
        *,
        agent: str,
        caller: Annotated[Principal, member],
        tenant: str | None = None,
        state: Literal["ready", "leased", "parked", "acked", "dead"] | None = None,
        subscription: Name = None,
        reason: Name = None,
        holder: Name = None,
        older_than_seconds: Age = None,
        limit: Limit = 100,
    ) -> dict[str, Any]:
        home = _reachable(caller.reader(), tenant, agent, knows_agent)
        which = listing.Which(state, subscription, reason, holder, older_than_seconds)
        try:
            which.meant_state()
        except ValueError as fault:
            raise _of_field("query", fault) from fault
        return {"messages": await listing.messages(mailbox.pool, home, agent, which, limit=limit)}

    @routes.get("/messages/{identifier}", tags=["mailbox"], summary="One message with its leases")
    async def message(identifier: str, caller: Annotated[Principal, member]) -> dict[str, Any]:
        try:
            prefix, uuid = from_people(identifier)
        except ValueError as fault:
            raise _bad_input("path.identifier", str(fault)) from fault
        found = await listing.message(mailbox.pool, uuid, caller) if prefix in {"", "msg"} else None
        if found is None:
            raise Problem(404, "not_found", f"there is no message {identifier}")
        return found

    @routes.get("/notices", tags=["mailbox"], summary="What a person should know, latest first")
    async def list_notices(
        caller: Annotated[Principal, member], tenant: str | None = None, limit: Limit = 100
    ) -> dict[str, Any]:
        async with mailbox.pool.acquire() as conn:
            return {"notices": await notices.listed(conn, _scope(caller, tenant), limit=limit)}


async def _answers(verb: Awaitable[Sequence[Answer]]) -> shapes.Answers:
    answers = await _refusing(verb)
    return shapes.Answers(items=[shapes.AnswerItem.of(answer) for answer in answers])


async def _refusing(work: Awaitable[T]) -> T:
    """What it answers; a refusal of ours names the field of the body."""
    try:
        return await work
    except ValueError as fault:
        raise _of_field("body", fault) from fault


def _read(path: str, reader: Callable[[], T]) -> T:
    """What a field says; a refusal of its form names it."""
    try:
        return reader()
    except ValueError as fault:
        raise _bad_input(path, str(fault)) from fault


def _reachable(caller: Principal, tenant: str | None, agent: str, knows_agent: KnowsAgent) -> str:
    """The tenant of a mailbox that the caller reaches and that is declared."""
    home = tenant or caller.home
    if not caller.reaches(home, agent):
        raise Problem(403, "forbidden", f"{caller.name} may not serve the mailbox of {agent} in {home}")
    if not knows_agent(home, agent):
        raise Problem(
            404, "unknown_agent", f"agent: {agent} is not declared in tenant {home}; apply a 'kind: Agent'"
        )
    return home


def _scope(caller: Principal, tenant: str | None) -> str | None:
    """The tenant to list; None for all of them."""
    if tenant is not None and caller.tenant not in {"*", tenant}:
        raise Problem(403, "forbidden", f"{caller.name} may not read tenant {tenant}")
    return tenant or (None if caller.tenant == "*" else caller.tenant)


def _of_field(where: str, fault: ValueError) -> Problem:
    """The problem that a refusal `field: sentence` of ours is."""
    path, _, sentence = str(fault).partition(": ")
    return _bad_input(f"{where}.{path}", sentence)


def _bad_input(path: str, message: str) -> Problem:
    return Problem(422, "bad_input", f"{path}: {message}", faults=[{"path": path, "message": message}])
