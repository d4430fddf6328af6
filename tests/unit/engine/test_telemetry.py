"""Logs hide secrets; metrics are catalogued with bounded labels."""

import re

import pytest

from sereno.mailbox.engine.instruments import LABELS, METRICS
from sereno.mailbox.engine.telemetry import redact


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("password", "hunter2"),
        ("webhook_secret", "hunter2"),
        ("note", "token srn_abcdefghijklmnop was used"),
        ("note", "lease srnl_17_0123456789abcdef ended"),
        ("dsn", "postgresql://marta:hunter2@127.0.0.1/sereno"),
    ],
)
def test_a_log_line_holds_no_secret(key: str, value: str) -> None:
    line = repr(redact(None, "info", {key: value}))
    assert not re.search(r"hunter2|srn_[a-z]|srnl_17", line)
    assert "[redacted]" in line


def test_ids_stay_readable() -> None:
    event = {"message": "msg_0190", "token": 1099511627777, "tenant": "acme"}
    assert redact(None, "info", dict(event)) == event


def test_labels_are_bounded() -> None:
    assert {label for metric in METRICS.values() for label in metric.labels} == set(LABELS)
    assert not set(LABELS) & {"subscription", "agent", "message", "receipt", "endpoint", "token", "schedule"}


def test_every_metric_has_a_description_and_a_unit_that_prometheus_knows() -> None:
    for metric in METRICS.values():
        assert metric.description.endswith(".")
        assert metric.unit in {"", "1", "s", "By"}
        assert metric.exposed.startswith("sereno_")
