from sereno.mailbox.engine.telemetry import Spread


def test_a_spread_is_a_histogram_to_prometheus() -> None:
    spread = Spread("sereno.webhook.duration")
    for seconds in (0.001, 0.0011, 0.3, 4000.0):
        spread.add(seconds)
    (family,) = spread.collect()
    assert (family.name, family.type) == ("sereno_webhook_duration_seconds", "histogram")
    samples = {
        (sample.name.removeprefix(family.name), *sample.labels.values()): sample.value
        for sample in family.samples
    }
    assert [samples["_bucket", edge] for edge in ("0.001", "0.0025", "0.25", "0.5", "3600.0", "+Inf")] == [
        1,
        2,
        2,
        3,
        3,
        4,
    ]
    assert samples["_count",] == 4
    assert samples["_sum",] == 4000.3021
