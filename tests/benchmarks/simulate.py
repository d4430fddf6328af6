"""How many matched activations a second `sereno simulate` takes through all seven guards, output included.

Run by `make bench-simulate`. No guard is trivially true: budgets of three levels, cooldown and quiet hours, batches by a
key, a storm threshold, a CEL filter on half of the subscriptions; the events are distinct and of about 0.7 KB.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson

EVENTS = 10_000
LEAST = 8_000
_START = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
_APART = timedelta(milliseconds=2500)
_DOCUMENTS = """
apiVersion: sereno/v1
kind: Tenant
metadata: {name: acme}
spec: {zone: Europe/Madrid, budget: {activations: 10000000/month}}
---
apiVersion: sereno/v1
kind: Agent
metadata: {name: triage, tenant: acme}
spec:
  owner: user:marta
  adapter: pull
  budget: {activations: 1000000/day}
  identities: [{origin: webhook/zendesk, actor: triage-bot}]
"""
_LIMITS = """
      cooldown: {every: 2s, then: batch}
      quiet_hours: {zone: Europe/Madrid, from: "04:00", to: "04:30"}
      budget: {cost: {limit: 50000 EUR/day, reserve: 0.01 EUR}}
      storm: {threshold: 100/min}
      max_occurrences: 100000000
      reentry: 1
"""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="sereno-bench-") as folder:
        subscriptions, events = Path(folder) / "subscriptions.yaml", Path(folder) / "events.jsonl"
        subscriptions.write_text(_DOCUMENTS + "".join(map(_subscription, range(4))), encoding="utf-8")
        events.write_bytes(b"\n".join(map(_event, range(EVENTS))))
        command = [sys.executable, "-m", "sereno.deploy.main", "simulate", "--json"]
        files = ["--subscriptions", str(subscriptions), "--events", str(events)]
        start_up = _seconds([*command, *files[:3], "/dev/null"], Path(folder) / "nothing.jsonl")
        processor = _processor()
        seconds = _seconds([*command, *files], Path(folder) / "output.jsonl") - start_up
        processor = _processor() - processor
        outcomes = _outcomes(Path(folder) / "output.jsonl")
    rate = outcomes.total() / seconds
    told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    sys.stdout.write(
        f"simulate  {rate:8.0f} activations/s   {EVENTS} events, 4 subscriptions ({told}); "
        f"start-up {start_up:.1f} s not counted, {1e6 * processor / outcomes.total():.0f} us of processor each\n"
    )
    return 0 if rate >= LEAST and outcomes.total() == 4 * EVENTS else 1


def _subscription(number: int) -> str:
    batch = "      batch: {window: 30s, max_wait: 2m, by: data.customer}\n" if number == 3 else ""
    cel = '    - cel: data.priority in ["high", "urgent"]\n' if number % 2 else ""
    return f"""---
apiVersion: sereno/v1
kind: Subscription
metadata: {{name: watch-{number}, tenant: acme}}
spec:
    owner: user:marta
    agent: agent:triage
    instruction: Draft a reply to each customer who asks for money back.
    source: {{webhook: {{endpoint: zendesk}}}}
    filters:
    - prefix: {{type: com.zendesk.ticket}}
{cel}    limits:{_LIMITS}{batch}    delivery: {{serial_by: data.customer}}
"""


def _event(number: int) -> bytes:
    moment = _START + number * _APART
    return orjson.dumps(
        {
            "specversion": "1.0",
            "id": f"t-{number}",
            "source": "/zendesk",
            "type": "com.zendesk.ticket.created",
            "subject": f"ticket/{number % 997}",
            "origin": "webhook/zendesk",
            "time": moment,
            "actor": f"customer-{number % 101}",
            "data": {
                "priority": "high",
                "customer": f"c-{number % 211}",
                "tags": ["refund", "mobile", "es"],
                "body": f"Order {number} came late and I should like my money back. " * 6,
            },
        },
        option=orjson.OPT_UTC_Z,
    )


def _seconds(command: list[str], output: Path) -> float:
    with output.open("wb") as sink:
        began = time.perf_counter()
        subprocess.run(command, stdout=sink, check=True, timeout=120)
        return time.perf_counter() - began


def _processor() -> float:
    """Seconds of processor that the simulations took so far: other work on the machine counts less in them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _outcomes(output: Path) -> Counter[str]:
    lines = (orjson.loads(line) for line in output.read_bytes().splitlines())
    return Counter(line["outcome"] for line in lines if line["kind"] == "decision")


if __name__ == "__main__":
    sys.exit(main())
