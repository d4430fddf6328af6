"""Kills the outbox relay of each plane between commit and publish, and between publish and mark, again and again.

Run by `make torture-outbox`. On the control plane a subscription is paused and resumed; on the execution plane one-shot
times fall due. Each of these changes wakes an agent exactly once.
"""

import asyncio
import contextlib
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

from sereno.mailbox.engine import outbox, postgres
from tests.e2e.running import until
from tests.torture.killing import Plant, doubled_or_lost, plant

POINTS = ("outbox.after_commit", "outbox.after_publish")
ROUNDS = 20
AGENT = "auditor"
TOGGLED = "toggled"
# Declared later than it is due, it would never fire.
AHEAD_SECONDS = 5

DOCUMENTS = f"""\
apiVersion: sereno/v1
kind: Agent
metadata: {{name: {AGENT}}}
spec: {{owner: user:marta, adapter: pull}}
---
apiVersion: sereno/v1
kind: Subscription
metadata: {{name: {TOGGLED}}}
spec:
  owner: user:marta
  agent: agent:{AGENT}
  instruction: Never due while this runs.
  source: {{time: {{at: "2099-01-01T00:00:00Z"}}}}
---
apiVersion: sereno/v1
kind: Subscription
metadata: {{name: audit}}
spec:
  owner: user:marta
  agent: agent:{AGENT}
  instruction: Note that a subscription changed.
  source: {{platform: {{types: [sereno.platform.subscription.changed]}}}}
  filters: [{{exact: {{subject: {TOGGLED}}}}}]
"""

TICK = """\
apiVersion: sereno/v1
kind: Subscription
metadata: {{name: {name}}}
spec:
  owner: user:marta
  agent: agent:{agent}
  instruction: Look at the clock.
  source: {{time: {{at: "{at}"}}}}
"""


def torture(plant: Plant, rounds: int) -> list[str]:
    """What was lost or doubled over `rounds` kills at each point on each plane."""
    plant.sereno.apply(DOCUMENTS)
    _await_drained(plant, "control")
    plant.take(AGENT)
    return [*_control(plant, rounds), *_execution(plant, rounds)]


def _control(plant: Plant, rounds: int) -> list[str]:
    expected: Counter[str] = Counter()
    for point in POINTS:
        for _ in range(rounds):
            _kill_control(plant, point)
        sys.stdout.write(f"control plane, {point}: killed {rounds} times\n")
    history = plant.sereno.control("GET", f"/v1/subscriptions/{TOGGLED}/history")["events"]
    expected.update(f"subscription/{TOGGLED}/{event['revision']}" for event in history[-2 * rounds :])
    until(lambda: plant.sereno.ready(AGENT) >= len(expected), seconds=180)
    return doubled_or_lost(expected, plant.take(AGENT))


def _kill_control(plant: Plant, point: str) -> None:
    plant.start("control", fault=point)
    plant.await_ready(plant.sereno.control_url)
    state = plant.sereno.control("GET", f"/v1/subscriptions/{TOGGLED}")["state"]
    verb = "pause" if state == "active" else "resume"
    # The process may die before its answer is out; what it committed counts.
    with contextlib.suppress(httpx.TransportError):
        plant.sereno.control("POST", f"/v1/subscriptions/{TOGGLED}/{verb}", {"reason": "torture"})
    plant.await_kill("control")
    plant.start("control")
    plant.await_ready(plant.sereno.control_url)
    _await_drained(plant, "control")


def _execution(plant: Plant, rounds: int) -> list[str]:
    ticks = 0
    for point in POINTS:
        for _ in range(rounds):
            ticks += 1
            plant.start("listeners", fault=point)
            _tick(plant, ticks)
            plant.await_kill("listeners")
            plant.start("listeners")
            _await_drained(plant, "execution")
        sys.stdout.write(f"execution plane, {point}: killed {rounds} times\n")
    until(lambda: plant.sereno.ready(AGENT) >= ticks, seconds=180)
    found = Counter[str]()
    for name in _subscriptions(plant):
        found[name] += 1
    return doubled_or_lost(Counter(f"tick-{number}" for number in range(1, ticks + 1)), found)


def _tick(plant: Plant, number: int) -> None:
    at = (datetime.now(UTC) + timedelta(seconds=AHEAD_SECONDS)).isoformat()
    plant.sereno.apply(TICK.format(name=f"tick-{number}", agent=AGENT, at=at))


def _subscriptions(plant: Plant) -> list[str]:
    """The subscription of each message in the mailbox."""
    messages = plant.sereno.execution("GET", f"/v1/mailboxes/{AGENT}/messages?state=ready&limit=1000")[
        "messages"
    ]
    return [message["subscription"]["name"] for message in messages]


def _await_drained(plant: Plant, schema: str) -> None:
    until(lambda: asyncio.run(_waiting(plant.dsn, schema)) == 0, seconds=180)


async def _waiting(dsn: str, schema: str) -> int:
    connection = await postgres.connect(dsn, application_name="sereno-torture")
    try:
        return (await outbox.lag(connection, schema))[0]
    finally:
        await connection.close()


def main(arguments: Sequence[str]) -> int:
    rounds = int(arguments[0]) if arguments else ROUNDS
    with (
        tempfile.TemporaryDirectory(prefix="sereno-torture-") as folder,
        plant(Path(folder) / "data") as running,
    ):
        faults = torture(running, rounds)
    sys.stdout.write("\n".join(faults or ["nothing lost, nothing twice"]) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
