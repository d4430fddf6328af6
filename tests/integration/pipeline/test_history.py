"""A simulation against history: the same deciders on the stored events by the stored clocks, over HTTP."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import anyio.from_thread
import anyio.to_thread
import httpx
import pytest
from fastapi import FastAPI

from sereno.execution_plane.history.http import router
from sereno.execution_plane.simulate.history import read
from sereno.execution_plane.simulate.lines import Received
from sereno.execution_plane.simulate.rehearsal import rehearse_lines
from sereno.mailbox.engine import problems
from sereno.mailbox.principal import Principal
from sereno.subscriptions import documents
from sereno.subscriptions.faults import Faults
from tests.integration.pipeline.conftest import Plane
from tests.integration.pipeline.test_consumer import consume
from tests.passages import NOON, TENANT, declared, received

MINUTE = timedelta(minutes=1)
LIMITS = {"cooldown": {"every": "10m"}, "max_occurrences": 3}
DOCUMENT = """
apiVersion: sereno/v1
kind: Subscription
metadata: {name: refund-watch, tenant: acme}
spec:
  owner: user:marta
  agent: agent:support-triage
  instruction: Draft a reply.
  source: {webhook: {endpoint: zendesk}}
  filters: [{cel: "data.customer == 'c-7'"}]
  limits: {cooldown: {every: 10m}, max_occurrences: 3}
"""


class Asker:
    """The route as a command asks it, from a thread."""

    def __init__(self, plane: Plane) -> None:
        self.principal = Principal("user:marta", TENANT)
        self.pages = 0
        app = FastAPI()
        problems.install(app)
        app.include_router(router(plane.pool, plane.catalog, lambda: self.principal))
        self._http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://sereno")

    async def ask(self, **query: Any) -> httpx.Response:
        return await self._http.get("/v1/history", params=query)

    def get(self, path: str, **query: Any) -> Mapping[str, Any]:
        self.pages += 1
        # Pages of two, so that a small store has several.
        asked = {name: value for name, value in {**query, "limit": 2}.items() if value is not None}
        answer = anyio.from_thread.run(self._http.get, f"{path}?{urlencode(asked)}")
        answer.raise_for_status()
        page: dict[str, Any] = answer.json()
        return page


async def story(plane: Plane) -> None:
    await plane.in_force(declared("refund-watch", filters=[{"cel": "data.customer == 'c-7'"}], limits=LIMITS))
    ours, other = {"customer": "c-7"}, {"customer": "c-8"}
    await plane.publish(
        received(1, data=ours),
        received(2, event_id="e-1", data=ours, after=MINUTE),
        received(3, data=ours, after=2 * MINUTE),
        received(4, data=other, after=12 * MINUTE),
    )
    await consume(plane)
    await plane.publish(
        received(5, data=ours, after=13 * MINUTE),
        received(6, data=ours, after=13 * MINUTE, notes={"forced_redelivery": True}),
        received(7, origin="time/refund-watch", after=14 * MINUTE),
        received(8, data=ours, after=40 * MINUTE),
        received(9, data=ours, after=60 * MINUTE),
    )
    await consume(plane)


@pytest.mark.req(153)
async def test_simulated_decisions_are_those_that_were_stored(plane: Plane) -> None:
    await story(plane)
    source = Asker(plane)
    lines = await anyio.to_thread.run_sync(read, source, [TENANT], None, None)
    assert source.pages == 5
    assert [line.envelope.id for _, line in lines if isinstance(line, Received)] == [
        *("e-1", "e-1", "e-3", "e-4", "e-5", "e-6", "e-8", "e-9"),
    ]
    versions = documents.parse(DOCUMENT, simulated=True)
    assert not isinstance(versions, Faults)
    said = [line for line in rehearse_lines(versions, lines) if line["kind"] == "decision"]
    simulated = [(line["event"], line["subscription"], line["reason"]) for line in said]
    assert simulated == await plane.outcomes()
    assert {reason for _, _, reason in simulated} == {"delivered", "duplicate", "cooldown", "exhausted"}


async def test_a_part_of_the_history_is_what_was_received_then(plane: Plane) -> None:
    await story(plane)
    lines = await anyio.to_thread.run_sync(
        read, Asker(plane), [TENANT], NOON + 2 * MINUTE, NOON + 13 * MINUTE
    )
    assert [number for number, _ in lines] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"after": "yesterday"}, 422),
        ({"from": "2026-03-02T12:00:00"}, 422),
        ({"limit": 0}, 422),
        ({"limit": 5_001}, 422),
        ({"tenant": "umbrella"}, 200),
    ],
)
async def test_bad_questions_are_refused(plane: Plane, query: dict[str, Any], status: int) -> None:
    await plane.in_force(declared())
    answer = await Asker(plane).ask(**query)
    assert answer.status_code == status
    if status == 200:
        assert answer.json() == {"items": [], "next": None}


async def test_a_worker_reads_no_history(plane: Plane) -> None:
    asker = Asker(plane)
    asker.principal = Principal("agent:billing", TENANT, frozenset({"billing"}))
    assert (await asker.ask()).status_code == 403
