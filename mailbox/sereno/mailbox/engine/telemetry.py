"""Logs, traces and metrics of a process: one place that sets them up, names from one list."""

import logging
import re
import sys
from bisect import bisect_left
from collections.abc import Iterator, MutableMapping
from itertools import accumulate
from typing import Any

import structlog
from opentelemetry import metrics, trace
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import Counter, Histogram
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest
from prometheus_client.core import HistogramMetricFamily

from sereno.mailbox.engine.instruments import METRICS

SCOPE = "sereno"
_SECRET_KEY = re.compile(r"secret|password|authorization|signature|seed|bearer|api_key|cookie", re.IGNORECASE)
_SECRET_TEXT = re.compile(r"srnl?_[A-Za-z0-9_-]{8,}|://[^/\s:@]+:[^/\s@]+@")
_HIDDEN = "[redacted]"
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


def tracer() -> trace.Tracer:
    """The tracer of this process."""
    return trace.get_tracer(SCOPE)


def logger(name: str, **bound: object) -> Any:
    """A structured logger; ids go in as keywords: `tenant`, `receipt`, `subscription`, `message`, `token`."""
    return structlog.stdlib.get_logger(name, **bound)


def setup(process: str, *, json_logs: bool = True, level: int = logging.INFO) -> None:
    """Configure logs, traces and metrics of this process, once, at its start."""
    resource = Resource.create({"service.name": f"sereno-{process}", "service.namespace": "sereno"})
    trace.set_tracer_provider(TracerProvider(resource=resource))
    metrics.set_meter_provider(MeterProvider(resource=resource, metric_readers=[PrometheusMetricReader()]))
    _setup_logs(process, json_logs=json_logs, level=level)


def _setup_logs(process: str, *, json_logs: bool, level: int) -> None:
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        redact,
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if json_logs else structlog.dev.ConsoleRenderer()
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(process=process)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(handlers=[handler], level=level, force=True)
    logging.getLogger("uvicorn.access").setLevel(logging.WARNING)
    logging.getLogger("httpx").setLevel(logging.WARNING)


def redact(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor that hides values of secret-looking keys and tokens inside texts."""
    return {key: _hide(key, value) for key, value in event.items()}


def _hide(key: str, value: object) -> object:
    if _SECRET_KEY.search(key):
        return _HIDDEN
    if isinstance(value, str):
        return _SECRET_TEXT.sub(_HIDDEN, value)
    return value


def metrics_page() -> tuple[bytes, str]:
    """What `/metrics` answers: the body and its content type."""
    for each in _TALLIES:
        each.flush()
    return generate_latest(REGISTRY), CONTENT_TYPE_LATEST
