"""Kills the pipeline with SIGKILL at random under load while its guards collect, count and reserve.

Run by `make torture-guards`; an argument is the number of kills. Every webhook that was answered 202 concerns three
subscriptions: one collects by number of the pull request, one by its cooldown, one delivers each; all count on the budgets of
their agents and of the tenant. Afterwards each event is in exactly one message of each, and the budgets say as many activations
as there are messages.
"""

import asyncio
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncpg

from tests.e2e.running import DOCUMENTS, endpoint_url, until
from tests.torture.gateway import Senders, progress
from tests.torture.killing import REDELIVERY_SECONDS, Plant, doubled_or_lost, plant

KILLS = 50
SENDERS = 4
MOST_BETWEEN_KILLS = 30
SEED = 20261130
AGENTS = ("collector", "rester", "taker")
_LIMITS = (
    "{batch: {window: 1s, max_items: 20, by: 'string(data.number % 3)'}, budget: {activations: 1000000/day}}",
    "{cooldown: {every: 2s, then: batch}, storm: {threshold: 100000/min, per_object: 100000/min}}",
    "{budget: {cost: {limit: 100000.00 EUR/day, reserve: 0.01 EUR}}}",
)
GUARDED = DOCUMENTS.partition("apiVersion: sereno/v1\nkind: Subscription")[0] + "\n---\n".join(
    f"""\
apiVersion: sereno/v1
kind: Agent
metadata: {{name: {agent}}}
spec: {{owner: user:marta, adapter: pull, budget: {{activations: 1000000/month}}}}
---
apiVersion: sereno/v1
kind: Subscription
metadata: {{name: watch-{agent}}}
spec:
  owner: user:marta
  agent: agent:{agent}
  instruction: Look.
  source: {{webhook: {{endpoint: github}}}}
  limits: {limits}
"""
    for agent, limits in zip(AGENTS, _LIMITS, strict=True)
)


def torture(plant: Plant, kills: int) -> list[str]:
    """What was lost, doubled or miscounted over so many kills."""
    senders = Senders(endpoint_url(plant.sereno.apply(GUARDED)))
    chance = random.Random(SEED)
    with ThreadPoolExecutor(SENDERS) as threads:
        sending = [threads.submit(senders.run) for _ in range(SENDERS)]
        try:
            for _ in range(kills):
                progress(senders, chance.randint(1, MOST_BETWEEN_KILLS))
                plant.kill("pipeline")
        finally:
            senders.ending.set()
        for thread in sending:
            thread.result()
    sys.stdout.write(f"killed the pipeline {kills} times under {len(senders.accepted)} events\n")
    expected = Counter(senders.accepted)
    faults: list[str] = []
    for agent in AGENTS:
        found: Counter[str] = Counter()

        def everything(agent: str = agent, found: Counter[str] = found) -> bool:
            found.update(plant.take(agent))
            return len(found) >= len(expected)

        until(everything, seconds=REDELIVERY_SECONDS)
        faults += [f"{agent}: {fault}" for fault in doubled_or_lost(expected, found)]
    return faults + asyncio.run(_miscounted(plant.dsn))


async def _miscounted(dsn: str) -> list[str]:
    """Budgets that do not say as many activations as there are messages, and batches that stayed open."""
    connection = await asyncpg.connect(dsn)
    try:
        messages = await connection.fetch("select agent, count(*) from mailbox.message group by agent")
        sums = await connection.fetch(
            "select name, sum(used)::bigint as used from execution.budget"
            " where scope = 'agent' and measure = 'activations' group by name"
        )
        left = await connection.fetchval("select count(*) from execution.batch where closed_at is null")
    finally:
        await connection.close()
    used = {row["name"]: row["used"] for row in sums}
    found = [
        f"{agent}: {used.get(agent)} activations are used by {count} messages"
        for agent, count in messages
        if used.get(agent) != count
    ]
    return found + ([f"{left} batches are open"] if left else [])


def main(arguments: Sequence[str]) -> int:
    kills = int(arguments[0]) if arguments else KILLS
    with (
        tempfile.TemporaryDirectory(prefix="sereno-torture-") as folder,
        plant(Path(folder) / "data") as running,
    ):
        faults = torture(running, kills)
    sys.stdout.write("\n".join(faults or ["nothing lost, nothing twice, nothing miscounted"]) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
