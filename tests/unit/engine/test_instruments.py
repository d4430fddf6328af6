"""What is declared is what Prometheus sees."""

import re

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import CollectorRegistry, generate_latest

from sereno.mailbox.engine.instruments import METRICS, Metric


def exposed(metric: Metric) -> set[str]:
    """The names of the series of one instrument, as the SDK's exporter writes them."""
    registry = CollectorRegistry()
    provider = MeterProvider([PrometheusMetricReader(disable_target_info=True, registry=registry)])
    meter = provider.get_meter("test")
    labels = dict.fromkeys(metric.labels, "x")

    def observe(_options: CallbackOptions) -> list[Observation]:
        return [Observation(1, labels)]

    if metric.kind == "counter":
        meter.create_counter(metric.name, metric.unit).add(1, labels)
    elif metric.kind == "histogram":
        meter.create_histogram(metric.name, metric.unit).record(1, labels)
    else:
        meter.create_observable_gauge(metric.name, [observe], metric.unit)
    text = generate_latest(registry).decode()
    provider.shutdown()
    return set(re.findall(r"^(\w+)\{", text, re.MULTILINE))


def test_every_instrument_is_exposed_under_its_declared_name() -> None:
    for metric in METRICS.values():
        suffixes = ("_bucket", "_count", "_sum") if metric.kind == "histogram" else ("",)
        assert exposed(metric) == {metric.exposed + suffix for suffix in suffixes}
