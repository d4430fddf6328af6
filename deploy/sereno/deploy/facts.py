"""What the processes of one machine show in their metrics, in words, with what to do: the limits are those of the alerts."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal

from prometheus_client.parser import text_string_to_metric_families

from sereno.deploy.finding import Finding
from sereno.mailbox.engine.instruments import METRICS

_HOUR, _DAY, _GIB = 3600.0, 86_400.0, 1 << 30
_MIB = 1 << 20
LEAST_FREE = _GIB
CLOCK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of a gauge, with its labels as one text."""

    of: str
    value: float


Samples = Mapping[str, list[Sample]]
"""By the declared name of the metric, over all processes."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What is said of a gauge: its worst value, beyond which limit that is wrong, and what is to be done then."""

    check: str
    metric: str
    unit: Literal["s", "n"]
    limit: float
    advice: str
    least: bool = False
    """Whether the lowest value is the worst."""


FACTS = (
    Fact("snapshot", "sereno.manifest.age", "s", 600, "is the control plane away? see 'sereno logs control'"),
    Fact(
        "snapshot is valid for",
        "sereno.manifest.validity",
        "s",
        _HOUR,
        "bring the control plane back: at 0 nothing is delivered",
        least=True,
    ),
    Fact(
        "oldest ready message",
        "sereno.mailbox.oldest_ready",
        "s",
        900,
        "does a worker run? see 'sereno mailbox list'",
    ),
    Fact(
        "oldest lease", "sereno.mailbox.oldest_lease", "s", _DAY, "see 'sereno mailbox list' for who holds it"
    ),
    Fact(
        "lag of the reconciler",
        "sereno.follower.lag",
        "s",
        30,
        "see 'sereno logs pipeline', and the oldest transaction",
    ),
    Fact(
        "instants without an end", "sereno.schedule.unaccounted", "n", 0, "'sereno schedule check' names each"
    ),
    Fact("oldest due instant", "sereno.schedule.overdue", "s", 60, "see 'sereno logs listeners'"),
    Fact(
        "source read longest ago",
        "sereno.source.staleness",
        "s",
        2 * _HOUR,
        "'sereno notices' says what it answers",
    ),
    Fact("sources that fail", "sereno.source.failing", "n", 0, "'sereno notices' says what they answer"),
    Fact(
        "events set aside",
        "sereno.quarantine.events",
        "n",
        0,
        "see 'sereno logs pipeline' for event_unreadable",
    ),
    Fact("candidate waits for a verdict", "sereno.evaluator.oldest", "s", 300, "see 'sereno logs evaluator'"),
    Fact(
        "change waits for a person", "sereno.approvals.oldest", "s", 3 * _DAY, "see 'sereno approvals list'"
    ),
    Fact(
        "audit chain",
        "sereno.audit.faults",
        "n",
        0,
        "'sereno audit verify' names the records; change nothing",
    ),
    Fact("audit chain verified", "sereno.audit.verified", "s", 7 * _DAY, "run 'sereno audit verify'"),
    # Somebody's will, and no fault.
    Fact("stops in force", "sereno.stop.engaged", "n", math.inf, ""),
)


def samples(pages: Iterable[str]) -> Samples:
    """The gauges on these pages of metrics."""
    names = {metric.exposed: metric for metric in METRICS.values() if metric.kind == "gauge"}
    found: dict[str, list[Sample]] = {}
    for page in pages:
        for family in text_string_to_metric_families(page):
            metric = names.get(family.name)
            for sample in family.samples if metric is not None else ():
                if metric is not None:
                    of = " ".join(sample.labels[label] for label in metric.labels if label in sample.labels)
                    found.setdefault(metric.name, []).append(Sample(of, sample.value))
    return found


def findings(found: Samples) -> Iterator[Finding]:
    """A finding for each fact; where no process shows it, that is what was found."""
    for fact in FACTS:
        shown = found.get(fact.metric)
        if not shown:
            yield Finding(fact.check, True, "nothing is shown of it")
            continue
        worst = min(shown, key=_value) if fact.least else max(shown, key=_value)
        fine = worst.value >= fact.limit if fact.least else worst.value <= fact.limit
        yield Finding(fact.check, fine, _said(fact, worst), "" if fine else fact.advice)


def versions(found: Samples) -> Finding:
    """Whether every process runs what is installed."""
    own = version("sereno")
    running = sorted({sample.of for sample in found.get("sereno.build.info", ())})
    fine = running in ([], [own])
    said = f"Sereno {own} is installed; {', '.join(running) or 'nothing'} runs"
    return Finding(
        "versions", fine, said, "" if fine else "start it again with 'sereno down' and 'sereno up'"
    )


def disk(folder: str, free: int, total: int) -> Finding:
    """Whether there is room: PostgreSQL and NATS stop when there is none."""
    fine = free >= LEAST_FREE
    said = f"{free // _MIB:,} MiB of {total // _MIB:,} MiB are free for {folder}"
    return Finding("disk", fine, said, "" if fine else "make room: events are refused when there is none")


def clock(ahead_seconds: float) -> Finding:
    """Whether this machine and PostgreSQL agree on the time."""
    fine = abs(ahead_seconds) <= CLOCK_SECONDS
    said = f"PostgreSQL is {abs(ahead_seconds):.3f} s {'ahead' if ahead_seconds > 0 else 'behind'}"
    return Finding(
        "clock", fine, said, "" if fine else "set the clocks by NTP: receipts and deadlines disagree"
    )


def _value(sample: Sample) -> float:
    return sample.value


def _said(fact: Fact, worst: Sample) -> str:
    amount = f"{worst.value:,.0f}" if fact.unit == "n" else _length(worst.value)
    return f"{amount} ({worst.of})" if worst.of else amount


def _length(seconds: float) -> str:
    for unit, size in (("d", _DAY), ("h", _HOUR), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
