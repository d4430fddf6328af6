"""May they: every route asks the policy before it does anything, and a refusal says by which rule and what would help."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fastapi import Depends, Request
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.api.authentication import Authenticated, Tenant
from sereno.control_plane.catalog.caller import Caller
from sereno.control_plane.minting import utc_now
from sereno.control_plane.store import heads, rights
from sereno.mailbox.engine.problems import Problem
from sereno.subscriptions.policy.authority import may
from sereno.subscriptions.policy.decision import Action, Decision, Resource
from sereno.subscriptions.policy.facts import Facts
from sereno.subscriptions.policy.remedy import remedy, sentence


class KnownFacts:
    """The facts of each tenant, read again when its catalog has another version."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._known: dict[str, tuple[int, Facts]] = {}

    async def of(self, tenant: str) -> Facts:
        """As of now."""
        async with self._engine.connect() as connection:
            version = (await heads.versions(connection, [tenant])).get(tenant, 0)
            known = self._known.get(tenant)
            if known is None or known[0] != version:
                known = version, await rights.facts(connection, tenant)
                self._known[tenant] = known
        return known[1]


@dataclass(frozen=True, slots=True)
class Access:
    """The caller in one tenant, at the instant of the request."""

    caller: Caller
    tenant: str
    facts: Facts
    at: datetime

    def may(self, action: Action, resource: Resource | None = None) -> Decision:
        """What the policy says."""
        asking = self.caller.asking(self.tenant, self.at)
        return may(self.facts, asking, action, resource or Resource("Tenant", self.tenant))

    def require(self, action: Action, resource: Resource | None = None) -> Decision:
        """The decision that allows it; else a problem 403."""
        decision = self.may(action, resource)
        if decision.allowed:
            return decision
        asking = self.caller.asking(self.tenant, self.at)
        command = remedy(self.facts, asking, action, decision)
        raise forbidden(
            sentence(asking, f"{action} in tenant {self.tenant}", decision, command), decision, command
        )


def forbidden(detail: str, decision: Decision, command: str | None = None) -> Problem:
    """The problem of a refusal by policy."""
    more: dict[str, Any] = {"rule": decision.rule, "policy_version": decision.policy_version}
    if command is not None:
        more["command"] = command
    return Problem(403, "forbidden", detail, **more)


async def entered(request: Request, caller: Authenticated, tenant: Tenant) -> Access:
    """The caller in the tenant; what is allowed there is decided by who uses this."""
    return Access(caller, tenant, await request.app.state.facts.of(tenant), utc_now())


def needs(action: Action) -> Callable[..., Awaitable[Access]]:
    """A dependency: the access, once the policy allows the action in the tenant."""

    async def allowed(access: "Access" = Depends(entered)) -> Access:  # noqa: B008 - FastAPI's way
        access.require(action)
        return access

    return allowed
