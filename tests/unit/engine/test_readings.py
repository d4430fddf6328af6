"""Gauges are looked up by who asks for the metrics, not too often, and not shown when they cannot be looked up."""

from collections.abc import Iterable, Mapping

import httpx
import pytest
from opentelemetry.metrics import CallbackOptions

from sereno.mailbox.engine import probes, readings
from sereno.mailbox.engine.readings import Look, Reading, Readings

MESSAGES = "sereno.mailbox.messages"
STOPS = "sereno.stop.engaged"


def values(name: str) -> dict[tuple[str, ...], float]:
    shown = readings._values(name, CallbackOptions())
    return {tuple(map(str, (one.attributes or {}).values())): float(one.value) for one in shown}


class Counting:
    """Answers how often it was asked."""

    def __init__(self, name: str, *labels: str) -> None:
        self.name, self.labels, self.times, self.fault = name, labels, 0, False

    async def __call__(self) -> Iterable[Reading]:
        self.times += 1
        if self.fault:
            raise ConnectionError("away")
        return [Reading(self.name, self.labels, self.times)]


async def ready() -> Mapping[str, str | None]:
    return {}


async def test_nobody_looks_before_somebody_asks_and_not_twice_in_a_moment() -> None:
    look = Counting(STOPS, "acme")
    both: dict[str, Look] = {"stops": look}
    app = probes.app(ready, Readings(both, every_seconds=3600).refresh)
    assert look.times == 0
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://process") as http:
        for path in ("/healthz", "/metrics", "/metrics"):
            assert (await http.get(path)).status_code == 200
    assert look.times == 1
    assert values(STOPS) == {("acme",): 1}


async def test_what_cannot_be_looked_up_is_not_shown_and_what_can_be_still_is() -> None:
    messages, stops = Counting(MESSAGES, "acme", "ready"), Counting(STOPS, "acme")
    gauges = Readings({"mailboxes": messages, "stops": stops}, every_seconds=0)
    await gauges.refresh()
    messages.fault = True
    await gauges.refresh()
    assert values(MESSAGES) == {}
    assert values(STOPS) == {("acme",): 2}
    messages.fault = False
    await gauges.refresh()
    assert values(MESSAGES) == {("acme", "ready"): 3}


async def test_labels_are_those_declared() -> None:
    gauges = Readings({"stops": Counting(STOPS, "acme", "too many")})
    with pytest.raises(ValueError, match="zip"):
        await gauges.refresh()
