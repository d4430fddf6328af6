"""What is declared for the proof of the dashboards: a subscription for each family, guard and outcome."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.calendars import calendar
from tests.e2e.running import SECRET_VARIABLE

AGENTS = ("worker", "idle", "halted", "asker")
INSTANTS = 24
EVERY = timedelta(seconds=2)
EVENT = "com.github.pull_request.opened"

_LIMITED = {
    "plain": "delivery: {lease: 60s, max_attempts: 3}",
    "rested": "limits: {cooldown: {every: 1h, then: drop}}",
    "collected": "limits: {batch: {window: 1s, max_wait: 3s, max_items: 50}}",
    "stormy": "limits: {storm: {threshold: 3/min}}",
    "broke": "limits: {budget: {activations: 2/hour}}",
    "funded": "limits: {budget: {activations: 100000/day}}",
    "single": "limits: {when_busy: drop}",
    "faulty": 'filters: [{cel: "data.number / 0 == 1"}]',
    "judged": "condition: {criterion: Does it touch prices?, min_confidence: 0.6}",
    "paused": "delivery: {lease: 60s}",
}
_AGENT_OF = {"single": "idle", "halted": "halted"}


def subscription(
    name: str, source: str, more: str = "", *, agent: str = "worker", owner: str = "user:marta"
) -> str:
    """One subscription in YAML."""
    return f"""\
---
apiVersion: sereno/v1
kind: Subscription
metadata: {{name: {name}}}
spec:
  owner: {owner}
  agent: agent:{agent}
  instruction: Look at it.
  source: {source}
  {more}
"""


def documents(folder: Path) -> str:
    """Everything, with instants that are due from now on; `folder` is where the calendar lies."""
    soon = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=8)
    instants = [soon + number * EVERY for number in range(INSTANTS)]
    (folder / "meetings.ics").write_text(
        calendar(*(_meeting(number, at) for number, at in enumerate(instants)))
    )
    webhook = f"{{webhook: {{endpoint: github}}}}\n  filters: [{{exact: {{type: {EVENT}}}}}]"
    limited = [
        subscription(
            name,
            webhook.partition("\n")[0] if "filters" in more else webhook,
            more,
            agent=_AGENT_OF.get(name, "worker"),
        )
        for name, more in _LIMITED.items()
    ]
    timed = [
        subscription(f"at-{number}", f'{{time: {{at: "{at.isoformat()}"}}}}')
        for number, at in enumerate(instants)
    ]
    return "".join(
        [
            f"""\
apiVersion: sereno/v1
kind: Tenant
metadata: {{name: default}}
spec: {{zone: Europe/Madrid, budget: {{activations: 1000000/day}}}}
---
apiVersion: sereno/v1
kind: Endpoint
metadata: {{name: github}}
spec: {{scheme: github, secrets: ["env:{SECRET_VARIABLE}"]}}
""",
            *(
                f"---\napiVersion: sereno/v1\nkind: Agent\nmetadata: {{name: {name}}}\n"
                f"spec: {{owner: user:marta, adapter: exec, capabilities: [subscribe]}}\n"
                for name in AGENTS
            ),
            *limited,
            *timed,
            subscription("halted", webhook, agent="halted"),
            subscription("hourly", "{time: {every: 1h}}"),
            subscription("meetings", f"{{calendar: {{file: {folder}/meetings.ics, offset: 0s, every: 1s}}}}"),
            subscription("again", "{platform: {types: [sereno.platform.run.finished], agent: agent:worker}}"),
        ]
    )


def _meeting(number: int, at: datetime) -> str:
    return f"UID:meeting-{number}\nDTSTAMP:20260101T000000Z\nDTSTART:{at:%Y%m%dT%H%M%SZ}\nDURATION:PT10M\nSUMMARY:Meeting"
