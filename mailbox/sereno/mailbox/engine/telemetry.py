"""Logs, traces and metrics of a process: one place that sets them up, names from one list."""

import logging
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from opentelemetry import metrics
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import Counter, Histogram
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.resources import Resource
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest
from prometheus_client.core import HistogramMetricFamily

from sereno.mailbox.engine import logs, sampling, tracing
from sereno.mailbox.engine.instruments import METRICS
from sereno.mailbox.engine.logs import logger as logger  # noqa: PLC0414 - where everybody looks for it

SCOPE = "sereno"
_BOUNDARIES = {
    "s": (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, 3600.0),
    "1": (1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 200.0, 500.0),
}


def counter(name: str) -> Counter:
    """The declared counter of this name."""
    metric = METRICS[name]
    return metrics.get_meter(SCOPE).create_counter(name, unit=metric.unit, description=metric.description)


class Tally:
    """A counter for what happens thousands of times a second: it adds up here until the metrics are read."""

    def __init__(self, name: str) -> None:
        self._labels = METRICS[name].labels
        self._counter = counter(name)
        self._counts: dict[tuple[str | int, ...], int] = {}

    def add(self, amount: int, *values: str | int) -> None:
        """Count so many under these values of the metric's labels, in the order of its declaration."""
        self._counts[values] = self._counts.get(values, 0) + amount

    def flush(self) -> None:
        """Hand over what was counted."""
        counts, self._counts = self._counts, {}
        for values, amount in counts.items():
            self._counter.add(amount, dict(zip(self._labels, map(str, values), strict=True)))


_TALLIES: list[Tally] = []


def tally(name: str) -> Tally:
    """The declared counter of this name as a tally."""
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
    """The declared histogram of this name, which has no labels, as a spread."""
    made = Spread(name)
    REGISTRY.register(made)
    return made


def histogram(name: str) -> Histogram:
    """The declared histogram of this name, with buckets that fit its unit."""
    metric = METRICS[name]
    return metrics.get_meter(SCOPE).create_histogram(
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
