"""The instruments: every metric of every process with its unit and its labels, declared once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "histogram", "gauge"]

LABELS: Mapping[str, str] = {
    "answer": "What a guard said: `passed`, `objected`, `not_configured` or `not_reached`.",
    "currency": "Three letters, as the price of an evaluator or the report of a worker says.",
    "dependency": "What a process needs: `postgres`, `nats`, a stream or the bucket of manifests.",
    "direction": "`input` or `output`.",
    "family": "Where an event comes from: `webhook`, `time`, `calendar`, `platform`, `mcp` or `agent`.",
    "follower": "Who follows a log.",
    "guard": "One of the seven guards, `match` or `condition`.",
    "measure": "What a budget counts in: `activations` or a currency.",
    "outcome": "How something ended, from a fixed list.",
    "plane": "`control` or `execution`.",
    "reading": "What is looked up for the gauges.",
    "reason": "Why, as the code of a fixed list.",
    "scope": "Whose budget: `tenant`, `agent` or `subscription`.",
    "state": "Where something stands, from a fixed list.",
    "status": "How an answer went: an HTTP status, or the status of a verb.",
    "stream": "One of the streams of NATS, or the bucket of manifests.",
    "tenant": "The tenant; `*` is all of them.",
    "verb": "A verb of leases.",
    "version": "The version of Sereno.",
}
"""Each label, and what bounds its values: a subscription, an agent, a message or any other id is never among them."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric as it is declared; its labels are among `LABELS`."""

    name: str
    kind: Kind
    unit: str
    description: str
    labels: tuple[str, ...] = ()

    @property
    def exposed(self) -> str:
        """The name under which Prometheus sees it."""
        unit = {"s": "_seconds", "By": "_bytes"}.get(self.unit, "")
        suffix = "_total" if self.kind == "counter" else ""
        return self.name.replace(".", "_") + unit + suffix


def _counter(name: str, description: str, *labels: str, unit: str = "1") -> Metric:
    return Metric(name, "counter", unit, description, labels)


def _histogram(name: str, description: str, *labels: str, unit: str = "s") -> Metric:
    return Metric(name, "histogram", unit, description, labels)


def _gauge(name: str, description: str, *labels: str, unit: str = "") -> Metric:
    return Metric(name, "gauge", unit, description, labels)


_WAKES = (
    _counter("sereno.webhook.requests", "Requests at webhook endpoints.", "status"),
    _histogram("sereno.webhook.duration", "Receipt of a webhook until its answer."),
    _counter("sereno.ingress.events", "Envelopes made durable in the ingress.", "tenant", "family"),
    _histogram("sereno.ingress.batch_size", "Envelopes in one group commit.", unit="1"),
    _histogram("sereno.ingress.lag", "Receipt of an event until its decision."),
    _counter(
        "sereno.decisions",
        "What became of an event for a subscription, and the guard that decided it.",
        "tenant",
        "family",
        "guard",
        "outcome",
    ),
    _histogram("sereno.pipeline.duration", "One batch through match, guards and commit."),
)

_GUARDS = (
    _counter("sereno.guard.verdicts", "What each guard said of an event.", "guard", "answer"),
    _counter("sereno.guard.objections", "Events that woke nobody, and why.", "tenant", "guard", "reason"),
    _counter("sereno.guard.time", "Time in which guards decided.", unit="s"),
    _gauge("sereno.guard.held", "Events that are held on their way, up to 10,000.", "tenant", "reason"),
    _gauge("sereno.guard.suspensions", "Suspensions that nobody has lifted.", "tenant", "reason"),
    _gauge("sereno.guard.open_batches", "Batches that collect.", "tenant"),
    _gauge("sereno.quarantine.events", "Events that could not be decided, up to 10,000.", "tenant"),
    _gauge(
        "sereno.budget.used",
        "The fullest budget of a scope: what is used of its limit in the running period, 1 is all.",
        "tenant",
        "scope",
        "measure",
    ),
    _counter("sereno.usage.cost", "What runs reported to have cost.", "tenant", "currency"),
)

_MAILBOX = (
    _counter("sereno.mailbox.deposits", "Messages deposited: wake-ups.", "tenant", "family"),
    _counter("sereno.mailbox.claims", "Messages claimed.", "tenant"),
    _histogram("sereno.mailbox.claim_latency", "Deposit of a message until its claim."),
    _counter("sereno.mailbox.verbs", "Answers to lease verbs.", "verb", "status"),
    _counter("sereno.mailbox.reaped", "Leases and ages ended by the reaper.", "state"),
    _counter(
        "sereno.mailbox.fence_losses",
        "Leases that their holders lost: they ran out, or were taken back.",
        "reason",
    ),
    _counter("sereno.mailbox.closed", "Messages that ended, acknowledged or dead.", "tenant", "outcome"),
    _gauge("sereno.mailbox.messages", "Messages by state, each up to 10,000.", "tenant", "state"),
    _gauge("sereno.mailbox.parked", "Parked messages by what they wait for.", "tenant", "reason"),
    _gauge(
        "sereno.mailbox.oldest_ready", "How long the oldest ready message has been ready.", "tenant", unit="s"
    ),
    _gauge("sereno.mailbox.oldest_lease", "How long the oldest lease has been held.", "tenant", unit="s"),
    _gauge(
        "sereno.mailbox.oldest_parked", "How long the oldest parked message has waited.", "tenant", unit="s"
    ),
    _gauge("sereno.stop.engaged", "Stops in force; those of the tenant `*` stop everybody.", "tenant"),
)

_SOURCES = (
    _histogram("sereno.schedule.lateness", "Due instant until its signal was written."),
    _histogram("sereno.schedule.delivery", "Due instant until its outcome.", "outcome"),
    _gauge(
        "sereno.schedule.active", "Schedules and calendars that have something to come.", "tenant", "family"
    ),
    _gauge(
        "sereno.schedule.overdue",
        "How long the oldest due instant has waited for its signal.",
        "tenant",
        "family",
        unit="s",
    ),
    _gauge(
        "sereno.schedule.unaccounted",
        "Due instants without an end: not written, or not decided, a minute after.",
        "tenant",
        "family",
    ),
    _counter("sereno.calendar.looks", "Looks at calendars.", "status"),
    _counter("sereno.mcp.polls", "Turns at connected sources.", "status"),
    _gauge(
        "sereno.source.staleness",
        "How long ago the source read longest ago was read.",
        "tenant",
        "family",
        unit="s",
    ),
    _gauge("sereno.source.failing", "Sources whose last look failed.", "tenant", "family"),
)

_EVALUATOR = (
    _counter(
        "sereno.evaluator.calls", "Calls of models, by whether they were answered.", "tenant", "outcome"
    ),
    _counter(
        "sereno.evaluator.verdicts", "Verdicts on candidates; an error by its kind.", "tenant", "outcome"
    ),
    _counter("sereno.evaluator.tokens", "Tokens that calls took.", "tenant", "direction"),
    _counter("sereno.evaluator.cost", "What calls cost.", "tenant", "currency"),
    _histogram("sereno.evaluator.duration", "Judging one group of candidates, all calls included."),
    _gauge("sereno.evaluator.waiting", "Candidates that wait for a verdict, up to 10,000.", "tenant"),
    _gauge(
        "sereno.evaluator.oldest",
        "How long the oldest candidate has waited for its verdict.",
        "tenant",
        unit="s",
    ),
)

_GOVERNANCE = (
    _gauge("sereno.approvals.waiting", "Changes that wait for a person.", "tenant"),
    _gauge("sereno.approvals.oldest", "How long the oldest of them has waited.", "tenant", unit="s"),
    _counter("sereno.approvals.resolved", "Changes on which people decided.", "tenant", "outcome"),
    _counter("sereno.answers.given", "Answers of people to parked work.", "tenant", "outcome"),
)

_INTEGRITY = (
    _gauge("sereno.manifest.age", "How long ago the manifest in force was signed.", "tenant", unit="s"),
    _gauge(
        "sereno.manifest.validity",
        "For how long the manifest in force may still be worked from.",
        "tenant",
        unit="s",
    ),
    _counter("sereno.manifest.refused", "Manifests refused.", "reason"),
    _gauge("sereno.audit.records", "Records in the audit chain.", "tenant", "plane"),
    _gauge("sereno.audit.unsigned", "Records behind the last signed checkpoint.", "tenant", "plane"),
    _gauge(
        "sereno.audit.verified",
        "How long ago the chain was last found whole, or this process started.",
        "tenant",
        "plane",
        unit="s",
    ),
    _gauge("sereno.audit.faults", "Faults that the last verification found.", "tenant", "plane"),
)

_DEPENDENCIES = (
    _counter("sereno.outbox.published", "Rows published by the relay.", "plane"),
    _histogram("sereno.outbox.lag", "Record of an outbox row until its publish.", "plane"),
    _gauge("sereno.outbox.waiting", "Rows that wait in the outbox, up to 10,000.", "plane"),
    _gauge("sereno.outbox.oldest", "How long the oldest row has waited in the outbox.", "plane", unit="s"),
    _gauge("sereno.follower.lag", "How far a follower is behind its log.", "follower", unit="s"),
    _gauge(
        "sereno.stream.messages", "Messages in a stream; in the ingress, those yet to be decided.", "stream"
    ),
    _gauge("sereno.stream.size", "What a stream takes on disk.", "stream", unit="By"),
    _gauge("sereno.dependency.up", "Whether a dependency answers: 1, or 0.", "dependency"),
    _gauge(
        "sereno.database.oldest_transaction",
        "For how long the oldest writing transaction has been seen to stand.",
        unit="s",
    ),
    _gauge("sereno.database.connections", "Connections of this process to PostgreSQL.", "state"),
    _counter("sereno.readings.failed", "Times the values of gauges could not be looked up.", "reading"),
    _gauge("sereno.build.info", "1, with the version that runs.", "version"),
)

METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for part in (_WAKES, _GUARDS, _MAILBOX, _SOURCES, _EVALUATOR, _GOVERNANCE, _INTEGRITY, _DEPENDENCIES)
    for metric in part
}
