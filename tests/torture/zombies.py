"""The zombie replayer: holders that lost their lease go on trying, beside holders that have theirs.

Every verb is tried with tokens that are not live any more: acknowledged, released, expired, cancelled, taken over by
a new claim, dead, redriven, from before a crash of PostgreSQL, and from a future that a restored back-up does not
know. Not one may count; and every verb of a live holder must.
"""

import os
import random
from collections import Counter
from dataclasses import dataclass, field

from sereno.execution_plane.agent_events import AgentEvents
from sereno.mailbox import epoch, standing
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.dead_letter import Filter
from sereno.mailbox.deposit import deposit
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.lease_items import (
    AckItem,
    Answer,
    Claimed,
    EmitItem,
    ParkItem,
    ReleaseItem,
    RenewItem,
    Status,
)
from sereno.mailbox.reaper import Reaper
from sereno.mailbox.verbs import Mailbox
from tests.mailbox_messages import message
from tests.torture.crashing_postgres import CrashingPostgres

VERBS = ("renew", "ack", "release", "park", "check", "emit")
ENDS = ("ack", "release", "park")
NAMES = ("worker-1", "worker-2", "worker-3")
BATCH = 150


@dataclass(slots=True)
class Replayer:
    """Keeps every token it ever saw; what is live is known from its own moves alone."""

    dice: random.Random
    live: dict[int, Claimed] = field(default_factory=dict)
    lost: list[int] = field(default_factory=list)
    stale: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    alive: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    async def round(self, mailbox: Mailbox) -> None:
        """Deposit, claim, let some leases lapse, use the live ones, and try the lost ones."""
        async with mailbox.pool.acquire() as conn, conn.transaction():
            await deposit(conn, [message(max_attempts=3) for _ in range(BATCH)])
        name = self.dice.choice(NAMES)
        for got in await mailbox.claim("acme", "triage", max=2 * BATCH, lease_seconds=600, incarnation=name):
            self.live[got.lease.token] = got
        await self._lapse(mailbox)
        await self._cancel(mailbox)
        for verb in ("renew", "check", "emit", self.dice.choice(ENDS)):
            await self._use(mailbox, verb)
        await self._replay(mailbox)

    async def _lapse(self, mailbox: Mailbox) -> None:
        """Some leases run out, and most of those are noticed by the reaper."""
        gone = [token for token in self.live if self.dice.random() < 0.2]
        await mailbox.pool.execute(
            "update mailbox.work set leased_until = clock_timestamp() - interval '1 ms' where token = any($1)",
            gone,
        )
        self._lose(gone)
        if self.dice.random() < 0.7:
            await Reaper(mailbox.pool).sweep()
        if self.dice.random() < 0.2:
            await mailbox.redrive("acme", Filter(), reason="again", principal="user:marta")

    async def _cancel(self, mailbox: Mailbox) -> None:
        """Now and then everything is paused, every holder told, and everything resumed."""
        if not self.live or self.dice.random() > 0.1:
            return
        async with mailbox.pool.acquire() as conn:
            await standing.hold(conn, "acme", "refund-watch", "paused")
        told = list(self.live)
        for answer in await self._try(mailbox, "renew", told):
            if answer.status is not Status.CANCELLED:
                self.refused["cancelled"] += 1
        self._lose(told)
        async with mailbox.pool.acquire() as conn:
            await standing.unhold(conn, "acme", "refund-watch", "paused")

    async def _use(self, mailbox: Mailbox, verb: str) -> None:
        tokens = [token for token in self.live if self.dice.random() < 0.7]
        if not tokens:
            return
        for answer in await self._try(mailbox, verb, tokens):
            counted = self.alive if answer.status is Status.OK else self.refused
            counted[verb] += 1
        if verb in ENDS:
            self._lose(tokens)
        if verb == "park":
            rows = await mailbox.pool.fetch("select id from mailbox.work where state = 'parked'")
            for row in rows:
                await mailbox.resume("acme", row["id"], {"go": "on"}, "user:marta")

    async def _replay(self, mailbox: Mailbox) -> None:
        tokens = self.dice.sample(self.lost, min(len(self.lost), BATCH))
        for verb in VERBS:
            for answer in await self._try(mailbox, verb, tokens) if tokens else ():
                counted = self.accepted if answer.status is Status.OK else self.stale
                counted[verb] += 1

    async def _try(self, mailbox: Mailbox, verb: str, tokens: list[int]) -> list[Answer]:
        match verb:
            case "renew":
                return await mailbox.renew([RenewItem(token, {"by": "zombie"}) for token in tokens])
            case "ack":
                return await mailbox.ack([AckItem(token, {"by": "zombie"}) for token in tokens])
            case "release":
                reason = self.dice.choice(("not_started", "busy", "rejected"))
                return await mailbox.release([ReleaseItem(token, reason) for token in tokens])
            case "park":
                return await mailbox.park([ParkItem(token, "approval") for token in tokens])
            case "emit":
                return await mailbox.emit([EmitItem(token, "com.example.said") for token in tokens])
            case _:
                return await mailbox.check(tokens)

    def _lose(self, tokens: list[int]) -> None:
        for token in tokens:
            del self.live[token]
        self.lost += tokens

    async def forget_the_future(self, pool: AnyPool) -> None:
        """After a step back in time only those leases are live that the database knows to be."""
        rows = await pool.fetch("select token from mailbox.work where state = 'leased'")
        known = {row["token"] for row in rows}
        for token in [token for token in self.lost if token in known]:
            # Its loss is undone: in this past it is live, so it is nobody's zombie.
            self.lost.remove(token)
        self._lose([token for token in self.live if token not in known])


async def replay(postgres: CrashingPostgres, attempts: int, seed: int) -> Replayer:
    """Rounds until so many stale attempts and as many live verbs were made, with a crash and a step back between."""
    replayer = Replayer(random.Random(seed))
    for part in range(3):
        pool = await open_pool(postgres.execution, application_name="zombies", max_size=4)
        if part == 2:
            await replayer.forget_the_future(pool)
        mailbox = _mailbox(pool)
        wanted = (part + 1) * attempts // 3
        while replayer.stale.total() < wanted or replayer.alive.total() < wanted:
            await replayer.round(mailbox)
        await pool.close()
        if part == 0:
            postgres.keep_copy()
            replayer_pool = await open_pool(postgres.execution, application_name="zombies", max_size=1)
            await replayer.round(_mailbox(replayer_pool))
            await replayer_pool.close()
            postgres.crash()
        elif part == 1:
            postgres.go_back()
            owner = await open_pool(postgres.owner, application_name="zombies", max_size=1)
            await epoch.raise_epoch(owner)
            await owner.close()
    return replayer


def _mailbox(pool: AnyPool) -> Mailbox:
    return Mailbox(pool, emitter=AgentEvents(os.urandom))
