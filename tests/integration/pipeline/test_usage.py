"""Usage over HTTP: what wake-ups cost, in sums that are those of the budgets."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from sereno.execution_plane.accounts.reconciling import Reconciler
from sereno.execution_plane.pipeline.directory import Directory
from sereno.execution_plane.usage.http import router
from sereno.mailbox.engine import problems
from sereno.mailbox.lease_items import AckItem, ReleaseItem
from sereno.mailbox.principal import Principal
from sereno.mailbox.verbs import Mailbox
from tests.integration.pipeline.conftest import Plane
from tests.integration.pipeline.test_consumer import consume
from tests.passages import TENANT, declared, received

AGENT = "support-triage"
BUDGET = {"activations": "50/day", "cost": {"limit": "10.00 EUR/day", "reserve": "0.30 EUR"}}


async def ask(plane: Plane, principal: Principal | None = None, **query: Any) -> httpx.Response:
    app = FastAPI()
    problems.install(app)
    who = principal or Principal("user:marta", TENANT)
    app.include_router(router(plane.pool, plane.catalog, lambda: who))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://sereno") as http:
        return await http.get("/v1/usage", params=query)


async def items(plane: Plane, **query: Any) -> list[Mapping[str, Any]]:
    answer = await ask(plane, **query)
    assert answer.status_code == 200, answer.text
    found: list[Mapping[str, Any]] = answer.json()["items"]
    return found


async def story(plane: Plane) -> None:
    """Of two subscriptions one run reports euros, one dollars besides, one nothing; one message dies."""
    await plane.in_force(
        declared("one", limits={"budget": BUDGET}), declared("two", limits={"budget": BUDGET})
    )
    await plane.publish(received(1), received(2))
    await consume(plane)
    mailbox = Mailbox(plane.pool)
    leased = await mailbox.claim(TENANT, AGENT, max=4, incarnation="w")
    of = {(one.subscription.name, number): one for number, one in enumerate(leased)}
    [first, second] = [one for (name, _), one in of.items() if name == "one"]
    [third, fourth] = [one for (name, _), one in of.items() if name == "two"]
    await mailbox.ack(
        [
            AckItem(first.lease.token, None, {"cost": "0.45 EUR", "model": "large"}),
            AckItem(second.lease.token),
            AckItem(third.lease.token, None, {"cost": ["0.10 EUR", "0.20 USD"], "model": "small"}),
        ]
    )
    await mailbox.release([ReleaseItem(fourth.lease.token, "rejected")])
    await Reconciler(plane.pool, Directory(plane.catalog)).round()


@pytest.mark.req(115)
async def test_sums_are_those_that_the_budgets_counted(plane: Plane) -> None:
    await story(plane)
    found = {item["name"]: item for item in await items(plane, by="subscription")}
    euros = {name: costs(item)["EUR"] for name, item in found.items()}
    used = {
        row["name"]: row["used"]
        for row in await plane.rows("select name, used from execution.budget where measure = 'EUR'")
    }
    assert {name: Decimal(cost["counted"]) for name, cost in euros.items()} == used
    assert used == {"one": Decimal("0.75"), "two": Decimal("0.10")}
    assert [(found[n]["wakes"], found[n]["dead"]) for n in ("one", "two")] == [(2, 0), (2, 1)]
    assert costs(found["two"])["USD"]["reported"] == "0.20"
    activations = await plane.rows(
        "select name, used from execution.budget where measure = 'activations' order by name"
    )
    assert [row["used"] for row in activations] == [2, 1]


def costs(item: Mapping[str, Any]) -> dict[str, Any]:
    return {cost["currency"]: cost for cost in item["costs"]}


async def test_every_way_to_sum_up_comes_to_the_same(plane: Plane) -> None:
    await story(plane)
    for by in ("tenant", "agent", "subscription", "model"):
        found = await items(plane, by=by)
        assert sum(item["wakes"] for item in found) == 4
        assert sum(Decimal(costs(item)["EUR"]["counted"]) for item in found) == Decimal("0.85")
    assert [item["name"] for item in found] == ["large", "small", None]
    assert [item["name"] for item in await items(plane, by="agent")] == [AGENT]


@pytest.mark.parametrize(
    ("query", "wakes"),
    [
        ({"from": "2020-01-01T00:00:00Z"}, 4),
        ({"to": "2020-01-01T00:00:00Z"}, 0),
        ({"from": "2099-01-01T00:00:00Z"}, 0),
        ({"tenant": "umbrella"}, 0),
    ],
)
async def test_a_period_counts_what_ended_in_it(plane: Plane, query: dict[str, Any], wakes: int) -> None:
    await story(plane)
    assert sum(item["wakes"] for item in await items(plane, **query)) == wakes


@pytest.mark.parametrize(
    "query",
    [{"by": "colour"}, {"from": "yesterday"}, {"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}],
)
async def test_bad_questions_are_refused(plane: Plane, query: dict[str, Any]) -> None:
    await plane.in_force(declared())
    assert (await ask(plane, **query)).status_code == 422


async def test_a_worker_does_not_see_what_others_cost(plane: Plane) -> None:
    assert (await ask(plane, Principal("agent:a", TENANT, frozenset({"a"})))).status_code == 403
