"""Explain over HTTP, from what a real pipeline stored."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from sereno.envelope.identifiers import to_people
from sereno.execution_plane.explain.http import router
from sereno.execution_plane.pipeline.lifting import lift
from sereno.mailbox import dead_letter
from sereno.mailbox.engine import problems
from sereno.mailbox.lease_items import AckItem, ReleaseItem
from sereno.mailbox.principal import Principal
from sereno.mailbox.verbs import Mailbox
from sereno.subscriptions.snapshot import Lift
from tests.integration.pipeline.conftest import Plane
from tests.integration.pipeline.test_consumer import consume
from tests.passages import NOON, TENANT, declared, receiptid, received

MINUTE = timedelta(minutes=1)


class Asker:
    """Asks the route as one principal."""

    def __init__(self, plane: Plane) -> None:
        self.principal = Principal("user:marta", TENANT)
        app = FastAPI()
        problems.install(app)
        app.include_router(router(plane.pool, plane.catalog, lambda: self.principal))
        self._http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://sereno")

    async def ask(self, identifier: str, **query: Any) -> httpx.Response:
        return await self._http.get(f"/v1/explain/{identifier}", params=query)

    async def explain(self, identifier: str, **query: Any) -> dict[str, Any]:
        answer = await self.ask(identifier, **query)
        assert answer.status_code == 200, answer.text
        explained: dict[str, Any] = answer.json()
        return explained

    async def close(self) -> None:
        await self._http.aclose()


@pytest.fixture
async def asker(plane: Plane) -> AsyncIterator[Asker]:
    asker = Asker(plane)
    yield asker
    await asker.close()


async def story(plane: Plane) -> None:
    """One wake, one duplicate and one inside the cooldown, and a subscription that is not concerned."""
    await plane.in_force(
        declared("refund-watch", limits={"cooldown": {"every": "10m"}}, mode="draft"),
        declared("vip-watch", filters=[{"cel": "data.customer == 'c-1'"}]),
        declared("elsewhere", source={"webhook": {"endpoint": "shop"}}),
    )
    customer = {"customer": "c-7"}
    await plane.publish(
        received(1, data=customer, actor="marta", actorid="user:marta"),
        received(2, event_id="e-1", data=customer, after=MINUTE),
        received(3, data=customer, after=2 * MINUTE),
    )
    await consume(plane)


@pytest.mark.req(156, 157)
async def test_a_wake_is_explained_from_cause_to_holders(plane: Plane, asker: Asker) -> None:
    await story(plane)
    mailbox = Mailbox(plane.pool)
    first = (await mailbox.claim(TENANT, "support-triage", incarnation="w1"))[0]
    await mailbox.release([ReleaseItem(first.lease.token, "not_started")])
    second = (await mailbox.claim(TENANT, "support-triage", incarnation="w2"))[0]
    await mailbox.ack([AckItem(second.lease.token, {"done": True})])
    said = await asker.explain(to_people("msg", first.id))
    assert said["kind"] == "message"
    assert "refund-watch woke agent:support-triage" in said["sentence"]
    cause = said["cause"]
    assert cause["receipt"] == to_people("rcp", receiptid(1))
    assert cause["sender"] == {
        "trust": "authenticated",
        "actor": "marta",
        "actorid": "user:marta",
        "onbehalfof": None,
    }
    assert cause["received"] == "2026-03-02T12:00:00Z"
    assert cause["decided"] > cause["received"]
    [decision] = said["decisions"]
    assert [guard["guard"] for guard in decision["guards"]] == [
        "dedup",
        "cycle",
        "rights",
        "cooldown",
        "batching",
        "delivery",
        "storm",
    ]
    assert decision["contract"]["version"] == 1
    assert decision["authority"] == {
        "owner": "user:marta",
        "created_by": "user:marta",
        "mode": "draft",
        # The manifest of this test carries no policies, so none was asked.
        **dict.fromkeys(("policy", "rule", "sponsor")),
    }
    delivery = decision["delivery"]
    assert (delivery["state"], delivery["attempts"]) == ("acked", 1)
    assert [(lease["token"], lease["ended"]) for lease in delivery["holders"]] == [
        (first.lease.token, "released"),
        (second.lease.token, "acked"),
    ]


@pytest.mark.parametrize(
    ("number", "guard", "why", "change"),
    [
        (2, "dedup", "had come before as rcp_", "another event id"),
        (3, "cooldown", "120 s after the last wake-up, inside the cooldown of 600 s", "2026-03-02T12:10:00Z"),
    ],
)
async def test_a_non_wake_says_which_guard_and_what_would_have_changed_it(
    plane: Plane, asker: Asker, *, number: int, guard: str, why: str, change: str
) -> None:
    await story(plane)
    said = await asker.explain(to_people("rcp", receiptid(number)))
    [decision] = said["decisions"]
    assert (decision["outcome"], decision["guard"]) == ("dropped", guard)
    assert why in said["sentence"]
    assert change in decision["would_have_changed_it"]
    assert decision["message"] is decision["delivery"] is None


async def test_what_did_not_match_is_recomputed_and_names_the_filter(plane: Plane, asker: Asker) -> None:
    await story(plane)
    identifier = to_people("rcp", receiptid(1))
    said = await asker.explain(identifier, why_not=True)
    misses = {miss["subscription"]: miss for miss in said["unmatched"]}
    assert set(misses) == {"vip-watch", "elsewhere"}
    assert all(miss["recomputed"] for miss in misses.values())
    assert misses["vip-watch"]["expected"] == "cel: data.customer == 'c-1'"
    assert misses["vip-watch"]["found"] == "data.customer = 'c-7'"
    assert misses["elsewhere"]["part"] == "source"
    # How many of that hour it was not concerned by, of those that came from its source.
    heard = await plane.rows(
        "select count(*) as n from execution.receipt r where r.origin = $1 and not exists"
        " (select from execution.verdict v where v.receiptid = r.receiptid and v.subscription = 'vip-watch')",
        said["cause"]["origin"],
    )
    assert misses["vip-watch"]["not_concerned_that_hour"] == heard[0]["n"] > 0
    assert misses["elsewhere"]["not_concerned_that_hour"] == 0
    one = await asker.explain(identifier, why_not=True, subscription="vip-watch")
    assert (len(one["decisions"]), len(one["unmatched"])) == (0, 1)


async def test_the_version_then_in_force_answers_after_an_edit(plane: Plane, asker: Asker) -> None:
    await story(plane)
    later = received().recordedtime + MINUTE
    await plane.in_force(
        declared("refund-watch", version=2, instruction="Something else.", updated_at=later),
        declared("vip-watch", version=2, updated_at=later),
    )
    said = await asker.explain(to_people("rcp", receiptid(1)), why_not=True)
    assert said["decisions"][0]["contract"]["instruction"] == "Draft a reply."
    assert {miss["subscription"]: miss["version"] for miss in said["unmatched"]} == {
        "vip-watch": 1,
        "elsewhere": 1,
    }


@pytest.mark.parametrize(
    ("identifier", "query", "status", "code"),
    [
        ("rcp_" + "0" * 32, {}, 404, "not_found"),
        ("msg_" + "0" * 32, {}, 404, "not_found"),
        ("nonsense", {}, 404, "not_found"),
        ("run_" + "0" * 32, {}, 404, "not_found"),
        (to_people("rcp", receiptid(1)), {"subscription": "nobody", "why_not": "true"}, 404, "not_found"),
        (to_people("rcp", receiptid(1)), {"tenant": "umbrella"}, 404, "not_found"),
    ],
)
async def test_bad_questions_are_refused(
    plane: Plane, asker: Asker, *, identifier: str, query: dict[str, str], status: int, code: str
) -> None:
    await story(plane)
    answer = await asker.ask(identifier, **query)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


async def test_strangers_to_the_tenant_or_agent_learn_nothing(plane: Plane, asker: Asker) -> None:
    await story(plane)
    rows = await plane.rows("select id from mailbox.message")
    message, receipt = to_people("msg", rows[0]["id"]), to_people("rcp", receiptid(1))
    asker.principal = Principal("user:eve", "umbrella")
    assert [(await asker.ask(i)).status_code for i in (message, receipt)] == [404, 404]
    asker.principal = Principal("agent:billing", TENANT, frozenset({"billing"}))
    assert [(await asker.ask(i)).status_code for i in (message, receipt)] == [404, 404]
    asker.principal = Principal("agent:support-triage", TENANT, frozenset({"support-triage"}))
    assert [(await asker.ask(i)).status_code for i in (message, receipt)] == [200, 404]


@pytest.mark.parametrize(
    ("damage", "missing"),
    [
        ("delete from execution.catalog_version where key = 'subscription/refund-watch'", "version 1"),
        ("delete from mailbox.message", "delivered message"),
        ("update execution.verdict set numbers = '{}'", "lacks message"),
    ],
)
async def test_a_missing_part_is_an_error_not_a_blank(
    plane: Plane, asker: Asker, damage: str, missing: str
) -> None:
    await story(plane)
    await plane.pool.execute(damage)
    answer = await asker.ask(to_people("rcp", receiptid(1)))
    assert (answer.status_code, answer.json()["code"]) == (500, "incomplete")
    assert missing in answer.json()["detail"]


async def test_an_event_put_away_is_explained(plane: Plane, asker: Asker) -> None:
    await plane.in_force(declared())
    await plane.publish(received(1, data={"note": "\0"}))
    await consume(plane)
    said = await asker.explain(to_people("rcp", receiptid(1)))
    assert said["cause"]["quarantined"]
    assert said["decisions"][0]["outcome"] == "error"


async def test_an_event_is_found_by_its_own_id_unless_several_have_it(plane: Plane, asker: Asker) -> None:
    await plane.in_force(declared())
    await plane.publish(received(1, event_id="ticket/7 @ noon"), received(2, event_id="other"))
    await consume(plane)
    assert (await asker.explain("ticket%2F7 @ noon"))["cause"]["receipt"] == to_people("rcp", receiptid(1))

    await plane.publish(received(3, event_id="other"))
    await consume(plane)
    answer = await asker.ask("other")
    assert (answer.status_code, answer.json()["code"]) == (422, "ambiguous")
    candidates = [one["id"] for one in answer.json()["candidates"]]
    assert sorted(candidates) == [to_people("rcp", receiptid(number)) for number in (2, 3)]
    assert all(one in answer.json()["detail"] for one in candidates)
    # Who is bound to an agent learns no candidates.
    asker.principal = Principal("agent:triage", TENANT, agents=frozenset({"triage"}))
    assert (await asker.ask("other")).status_code == 404


async def test_a_signal_is_found_by_its_subscription_and_instant(plane: Plane, asker: Asker) -> None:
    await plane.in_force(declared("morning-round", source={"time": {"every": "1h"}}))
    tick = received(1, origin="time/morning-round", type_="sereno.time.due")
    await plane.pool.execute(
        "insert into execution.due_instant (tenant_id, schedule, instant, subscription, receiptid, emitted, outcome, "
        "reason, skipped, skipped_from) values "
        "($1, $2, '2026-05-04T10:00:00Z', 'morning-round', $2, clock_timestamp(), null, null, 0, null), "
        "($1, $2, '2026-05-04T09:00:00Z', 'morning-round', null, null, 'skipped', 'paused', 3, '2026-05-04T07:00:00Z')",
        TENANT,
        receiptid(1),
    )
    await plane.publish(tick)
    await consume(plane)
    found = await asker.explain("morning-round@2026-05-04T12:00:00%2B02:00")
    assert found["cause"]["receipt"] == to_people("rcp", receiptid(1))
    skipped = await asker.ask("morning-round@2026-05-04T08:00:00Z")
    assert skipped.status_code == 404
    assert skipped.json()["detail"] == "morning-round@2026-05-04T08:00:00Z sent no signal: skipped, paused"
    assert (await asker.ask("morning-round@2026-05-04T06:00:00Z")).json()["code"] == "not_found"


async def test_a_run_is_explained_by_its_message(plane: Plane, asker: Asker) -> None:
    await story(plane)
    message = (await plane.rows("select id from mailbox.message"))[0]["id"]
    by_message = await asker.explain(to_people("msg", message))
    assert await asker.explain(to_people("run", message)) == by_message
    everything = dead_letter.Filter()
    await dead_letter.end(plane.pool, TENANT, everything, reason="r", principal="user:marta", preview=False)
    await dead_letter.redrive(
        plane.pool, TENANT, everything, reason="r", principal="user:marta", preview=False
    )
    again = (await plane.rows("select run_id from mailbox.work"))[0]["run_id"]
    assert again != message
    told = await asker.explain(to_people("run", again))
    assert (told["id"], told["decisions"][0]["delivery"]["state"]) == (to_people("msg", message), "ready")


@pytest.mark.parametrize("identifier", ["rcp_12", "%20", "msg_"])
async def test_what_can_be_no_identifier_says_what_was_expected(asker: Asker, identifier: str) -> None:
    answer = await asker.ask(identifier)
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_input")
    assert "expected" in answer.json()["detail"]


@pytest.mark.req(154)
async def test_a_suspension_is_explained_by_what_tripped_it_and_who_lifted_it(
    plane: Plane, asker: Asker
) -> None:
    await plane.in_force(declared(limits={"storm": {"threshold": "2/min"}}), declared("other"))
    await plane.publish(*(received(number) for number in range(1, 6)))
    await consume(plane)
    [row] = await plane.rows("select id from execution.suspension")
    identifier = to_people("sus", row["id"])
    told = await asker.explain(identifier)
    assert (told["id"], told["kind"]) == (identifier, "suspension")
    assert "refund-watch is suspended: 3 events came in 60" in told["sentence"]
    assert told["cause"]["receipt"] == to_people("rcp", receiptid(3))
    assert [one["subscription"] for one in told["decisions"]] == ["refund-watch"]
    suspension = told["suspension"]
    assert (suspension["cause"], suspension["waiting"], suspension["ended"]) == ("storm", 3, None)
    assert (await asker.explain(str(row["id"])))["id"] == identifier
    # What it holds names it.
    held = (await asker.explain(to_people("rcp", receiptid(5))))["decisions"][1]
    assert identifier in held["sentence"]

    lifts = [
        Lift(
            suspension=row["id"],
            subscription="refund-watch",
            held="review",
            by="user:m",
            reason="calm",
            at=NOON,
        )
    ]
    async with plane.pool.acquire() as conn, conn.transaction():
        await lift(conn, TENANT, lifts)
    told = await asker.explain(identifier)
    assert told["suspension"]["ended_by"] == "user:m"
    assert "user:m lifted it at" in told["sentence"]
    asker.principal = Principal("agent:support-triage", TENANT, frozenset({"support-triage"}))
    assert (await asker.ask(identifier)).status_code == 404
    await plane.pool.execute("delete from execution.receipt")
    asker.principal = Principal("user:marta", TENANT)
    answer = await asker.ask(identifier)
    assert (answer.status_code, answer.json()["code"]) == (500, "incomplete")
