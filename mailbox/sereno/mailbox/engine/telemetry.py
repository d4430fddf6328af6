"""Logs, traces and metrics of a process: one place that sets them up, names from one list."""

import logging
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from opentelemetry import metrics
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import Counter, Histogram, UpDownCounter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.resources import Resource
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest
from prometheus_client.core import HistogramMetricFamily

from sereno.mailbox.engine import logs, sampling, tracing
from sereno.mailbox.engine.logs import logger as logger  # noqa: PLC0414 - where everybody looks for it

_SCOPE = "sereno"
_BOUNDARIES = {
    "s": (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, 3600.0),
    "1": (1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 200.0, 500.0),
}


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric as it is catalogued: labels are bounded, never an id."""

    name: str
    kind: Literal["counter", "histogram", "gauge"]
    unit: str
    description: str
    labels: tuple[str, ...] = ()

    @property
    def exposed(self) -> str:
        """The name under which Prometheus sees it."""
        unit = {"s": "_seconds", "By": "_bytes"}.get(self.unit, "")
        suffix = "_total" if self.kind == "counter" else ""
        return self.name.replace(".", "_") + unit + suffix


METRICS = {
    metric.name: metric
    for metric in (
        Metric("sereno.webhook.requests", "counter", "1", "Requests at webhook endpoints.", ("status",)),
        Metric("sereno.webhook.duration", "histogram", "s", "Receipt of a webhook until its answer."),
        Metric(
            "sereno.ingress.events", "counter", "1", "Envelopes made durable in the ingress.", ("family",)
        ),
        Metric("sereno.ingress.batch_size", "histogram", "1", "Envelopes in one group commit."),
        Metric("sereno.ingress.lag", "histogram", "s", "Receipt of an event until its decision."),
        Metric("sereno.decisions", "counter", "1", "Decisions of the guards.", ("outcome", "guard")),
        Metric("sereno.pipeline.duration", "histogram", "s", "One batch through match, guards and commit."),
        Metric("sereno.mailbox.deposits", "counter", "1", "Messages deposited."),
        Metric("sereno.mailbox.claims", "counter", "1", "Messages claimed."),
        Metric("sereno.mailbox.claim_latency", "histogram", "s", "Deposit of a message until its claim."),
        Metric("sereno.mailbox.verbs", "counter", "1", "Answers to lease verbs.", ("verb", "status")),
        Metric("sereno.mailbox.reaped", "counter", "1", "Leases ended by the reaper.", ("state",)),
        Metric("sereno.schedule.lateness", "histogram", "s", "Due instant until its signal was written."),
        Metric("sereno.schedule.delivery", "histogram", "s", "Due instant until its outcome.", ("outcome",)),
        Metric("sereno.calendar.looks", "counter", "1", "Looks at calendars.", ("status",)),
        Metric("sereno.mcp.polls", "counter", "1", "Turns at connected sources.", ("status",)),
        Metric("sereno.manifest.age", "histogram", "s", "Age of the manifest at each reading."),
        Metric("sereno.manifest.refused", "counter", "1", "Manifests refused.", ("reason",)),
        Metric("sereno.outbox.published", "counter", "1", "Rows published by the relay.", ("plane",)),
        Metric(
            "sereno.outbox.lag", "histogram", "s", "Record of an outbox row until its publish.", ("plane",)
        ),
    )
}


def counter(name: str) -> Counter:
    """The catalogued counter of this name."""
    metric = METRICS[name]
    return metrics.get_meter(_SCOPE).create_counter(name, unit=metric.unit, description=metric.description)


class Tally:
    """A counter for what happens thousands of times a second: it adds up here until the metrics are read."""

    def __init__(self, name: str) -> None:
        (self._label,) = METRICS[name].labels
        self._counter = counter(name)
        self._counts: dict[str | int, int] = {}

    def add(self, amount: int, value: str | int) -> None:
        """Count so many under this value of the metric's one label."""
        self._counts[value] = self._counts.get(value, 0) + amount

    def flush(self) -> None:
        """Hand over what was counted."""
        counts, self._counts = self._counts, {}
        for value, amount in counts.items():
            self._counter.add(amount, {self._label: str(value)})


_TALLIES: list[Tally] = []


def tally(name: str) -> Tally:
    """The catalogued counter of this name, which has one label, as a tally."""
    made = Tally(name)
    _TALLIES.append(made)
    return made


class Spread:
    """A histogram without labels for what happens thousands of times a second; Prometheus reads it here itself."""

    def __init__(self, name: str) -> None:
        self._metric = METRICS[name]
        self._bounds = _BOUNDARIES[self._metric.unit]
        self._counts = [0] * (len(self._bounds) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        """Take in one value, in the unit of the metric."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """What a registry of Prometheus asks for."""
        edges = [*(repr(bound) for bound in self._bounds), "+Inf"]
        yield HistogramMetricFamily(
            self._metric.exposed,
            self._metric.description,
            buckets=list(zip(edges, accumulate(self._counts), strict=True)),
            sum_value=self._sum,
        )


def spread(name: str) -> Spread:
    """The catalogued histogram of this name, which has no labels, as a spread."""
    made = Spread(name)
    REGISTRY.register(made)
    return made


def gauge(name: str) -> UpDownCounter:
    """The catalogued up-down counter of this name."""
    metric = METRICS[name]
    return metrics.get_meter(_SCOPE).create_up_down_counter(
        name, unit=metric.unit, description=metric.description
    )


def histogram(name: str) -> Histogram:
    """The catalogued histogram of this name, with buckets that fit its unit."""
    metric = METRICS[name]
    return metrics.get_meter(_SCOPE).create_histogram(
        name,
        unit=metric.unit,
        description=metric.description,
        explicit_bucket_boundaries_advisory=_BOUNDARIES[metric.unit],
    )


def setup(
    process: str,
    *,
    json_logs: bool = True,
    level: int = logging.INFO,
    traces_per_second: float = sampling.DEFAULT_PER_SECOND,
) -> None:
    """Configure logs, traces and metrics of this process, once, at its start. Raises ValueError naming a variable."""
    logs.setup(process, json_logs=json_logs, level=level)
    tracing.start(process, per_second=traces_per_second)
    resource = Resource.create({"service.name": f"sereno-{process}", "service.namespace": "sereno"})
    metrics.set_meter_provider(MeterProvider(resource=resource, metric_readers=[PrometheusMetricReader()]))


def metrics_page() -> tuple[bytes, str]:
    """What `/metrics` answers: the body and its content type."""
    for each in _TALLIES:
        each.flush()
    return generate_latest(REGISTRY), CONTENT_TYPE_LATEST
