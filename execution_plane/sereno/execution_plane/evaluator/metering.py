"""What stands before and after a judgement that is no wake-up: the stop, a paused source, the pace; and its cost."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sereno.envelope.identifiers import RANDOM_BYTES, uuid7
from sereno.execution_plane.accounts import usage_log
from sereno.execution_plane.accounts.usage_log import Used
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.evaluator import egress_log
from sereno.execution_plane.evaluator.evaluation import Evaluated
from sereno.execution_plane.evaluator.observed import SQL
from sereno.execution_plane.evaluator.verdicts import costs_of
from sereno.execution_plane.guards.subscription import Subscription
from sereno.mailbox import stop
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.asking import Refused

MOST_IN_A_MINUTE = 20
"""Tests and replays of a tenant, over all replicas."""
_SOURCES = {"webhook": "Endpoint", "mcp": "Connector"}


class Meter:
    """Lets tests and replays through, and writes what they took; `random` gives bytes for ids."""

    def __init__(self, pool: AnyPool, catalog: Catalog, random: Callable[[int], bytes]) -> None:
        self._pool = pool
        self._catalog = catalog
        self._random = random

    async def admit(self, policy: Subscription, by: str) -> UUID:
        """The number of the test, once neither a stop, nor a paused source, nor the pace stands against it.

        Raises `Refused`.
        """
        paused = self._paused_source(policy)
        if paused is not None:
            raise Refused(409, "paused", f"{paused} is paused")
        number = uuid7(int(datetime.now(UTC).timestamp() * 1000), self._random(RANDOM_BYTES))
        async with self._pool.acquire() as conn, conn.transaction():
            for scope in await stop.scopes(conn, [policy.tenant]):
                if scope.covers(policy.tenant, policy.agent, policy.name, policy.origin):
                    raise Refused(409, "stopped", f"the emergency stop stands (scope {scope})")
            await conn.execute(SQL["turn"], policy.tenant)
            taken = await conn.fetchval(SQL["take"], policy.tenant, number, policy.name, by, MOST_IN_A_MINUTE)
        if taken is None:
            raise Refused(
                429, "rate_limited", f"expected at most {MOST_IN_A_MINUTE} tests a minute in {policy.tenant}"
            )
        return number

    def _paused_source(self, policy: Subscription) -> str | None:
        family, _, name = policy.origin.partition("/")
        known = self._catalog.tenant(policy.tenant)
        for one in () if known is None else known.objects.values():
            if str(one.kind) == _SOURCES.get(family) and one.name == name and one.state == "paused":
                return f"{one.kind} {name}"
        return None

    async def write(self, policy: Subscription, number: UUID, done: Evaluated) -> None:
        """The record of every call, and what they cost."""
        await egress_log.write(self._pool, policy.tenant, policy.name, done.egress)
        model = done.usage[0].model if done.usage else None
        paid = {currency: cost for currency, cost in costs_of(done.usage).items() if cost}
        costs: dict[str, Decimal | None] = {**paid} or {"": None}
        at, who = datetime.now(UTC), (policy.name, policy.agent)
        rows = [
            Used(policy.tenant, str(number), currency, at, *who, model, "tested", cost, None)
            for currency, cost in costs.items()
        ]
        async with self._pool.acquire() as conn:
            await usage_log.write(conn, "test", rows)


def told(done: Evaluated) -> dict[str, Any]:
    """What calls took, as it is told."""
    return {
        "calls": sum(one.calls for one in done.usage),
        "input_tokens": sum(one.input_tokens for one in done.usage),
        "output_tokens": sum(one.output_tokens for one in done.usage),
        "cost": [
            {"amount": str(amount), "currency": currency}
            for currency, amount in costs_of(done.usage).items()
            if amount
        ],
    }
