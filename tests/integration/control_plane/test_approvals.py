"""What waits for a person: exactly these bytes, once, by another, and a no is remembered."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any

import httpx
import pytest
import pytest_asyncio
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.api import create_app
from sereno.control_plane.bootstrapping import bootstrap
from sereno.control_plane.catalog import approval as deciding
from sereno.control_plane.gauges import governance
from sereno.control_plane.store.engine import open_engine
from sereno.envelope.stored import loads_batch
from sereno.envelope.types import APPROVAL_RESOLVED
from sereno.mailbox.engine.postgres import open_pool
from tests.control_documents import AGENT, ENDPOINT, several, subscription
from tests.engines import Engines

pytestmark = pytest.mark.asyncio(loop_scope="module")
ADMIN = "srn_" + "e" * 43
POLICY = """\
apiVersion: sereno/v1
kind: Policy
metadata: {name: NAME}
spec: {quorum: QUORUM, cedar: '@id("NAME") EFFECT(principal, action == Action::"audit", resource);'}
"""


async def ready() -> dict[str, str | None]:
    return {}


class House:
    def __init__(self, engine: AsyncEngine, client: httpx.AsyncClient) -> None:
        self.engine, self.client = engine, client
        self.tokens = {"user:admin": ADMIN}

    async def ask(self, method: str, path: str, who: str = "user:admin", **options: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.tokens[who]}"}
        return await self.client.request(method, f"/v1/{path}", headers=headers, **options)

    async def post(self, path: str, body: Mapping[str, Any], who: str = "user:admin") -> Any:
        answer = await self.ask("POST", path, who, json=dict(body))
        assert answer.is_success, answer.text
        return answer.json()

    async def apply(self, documents: str, who: str = "user:admin") -> httpx.Response:
        return await self.ask("POST", "apply", who, json={"documents": documents})

    async def pending(self, name: str) -> Any:
        found = (await self.ask("GET", "approvals", params={"state": "pending"})).json()["items"]
        [one] = [item for item in found if item["name"] == name]
        return one

    async def word(self, verb: str, asked: Any, who: str = "user:admin", **more: Any) -> httpx.Response:
        body = {"digest": asked["digest"], "reason": "because", **more}
        return await self.ask("POST", f"approvals/{asked['id']}/{verb}", who, json=body)

    async def state(self, name: str, kind: str = "subscriptions") -> str:
        return str((await self.ask("GET", f"{kind}/{name}")).json()["state"])

    async def announced(self) -> list[Any]:
        async with self.engine.connect() as connection:
            rows = await connection.execute(text("select payload from control.outbox order by position"))
            envelopes = [envelope for (payload,) in rows for envelope in loads_batch(payload)]
        return [envelope.data for envelope in envelopes if envelope.type == APPROVAL_RESOLVED]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(module_engines: Engines) -> AsyncIterator[House]:
    engine = open_engine(module_engines.control_dsn, application_name="tests", pool_size=8)
    await bootstrap(engine, hashlib.sha256(ADMIN.encode()).hexdigest())
    app = create_app(engine, execution_url="http://hooks.example", ready=ready)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://control") as client:
        house = House(engine, client)
        agent = AGENT.replace("exec}", "exec, capabilities: [subscribe]}")
        assert (await house.apply(several(agent, ENDPOINT))).is_success
        await house.post("grants", {"to": "agent:triage", "source": "webhook/zendesk"})
        for name, role in (("user:luis", "approver"), ("user:ana", "approver"), ("agent:triage", None)):
            if role:
                await house.post("principals", {"name": name, "roles": [role]})
            house.tokens[name] = (await house.post("tokens", {"principal": name}))["token"]
        yield house
    await engine.dispose()


def wish(name: str, **changes: str) -> str:
    return subscription(name, **changes).replace("user:marta", "agent:triage")


@pytest.mark.req(9, 130, 133)
async def test_what_an_agent_asks_for_is_born_pending_with_exactly_what_it_asks(house: House) -> None:
    answer = (await house.apply(wish("asked"), "agent:triage")).json()
    [made] = answer["objects"]
    assert (made["state"], made["waits"]) == ("pending_approval", ["new"])
    asked = await house.pending("asked")
    assert (asked["asked_by"], asked["state"], asked["quorum"]) == ("agent:triage", "pending", 1)
    assert asked["digest"] == hashlib.sha256(asked["document"].encode()).hexdigest()
    assert asked["wants"]["spec"]["instruction"] == "Draft a reply."
    approved = await house.word("approve", asked)
    assert approved.json()["resolved_by"] == "user:admin"
    assert await house.state("asked") == "active"
    assert (await house.announced())[-1] == {
        "approval": asked["id"].removeprefix("apr_")[:8] + (await house.announced())[-1]["approval"][8:],
        "kind": "subscription",
        "name": "asked",
        "outcome": "approved",
        "by": "user:admin",
        "asked_by": "agent:triage",
        "reason": "because",
        "digest": asked["digest"],
    }


async def test_an_approval_is_good_once_and_for_what_was_seen(house: House) -> None:
    await house.apply(wish("once"), "agent:triage")
    asked = await house.pending("once")
    other = await house.word("approve", asked, digest="0" * 64)
    assert (other.status_code, other.json()["code"]) == (409, "version_conflict")
    assert await house.state("once") == "pending_approval"
    assert (await house.word("approve", asked)).is_success
    again = await house.word("approve", asked)
    assert (again.status_code, again.json()["code"]) == (409, "not_allowed")


async def test_asking_for_something_else_takes_another_approval(house: House) -> None:
    await house.apply(wish("other"), "agent:triage")
    first = await house.pending("other")
    await house.apply(wish("other"), "agent:triage")
    assert (await house.pending("other"))["id"] == first["id"], "the same again is the same request"
    await house.apply(wish("other", instruction="Send a reply."), "agent:triage")
    second = await house.pending("other")
    assert second["digest"] != first["digest"]
    assert (await house.word("approve", first)).status_code == 409
    assert (await house.word("approve", second)).is_success
    shown = (await house.ask("GET", "subscriptions/other")).json()
    assert (shown["state"], shown["spec"]["instruction"]) == ("active", "Send a reply.")


@pytest.mark.req(135)
async def test_k4_a_rejection_is_remembered_and_a_person_may_ask_anew(house: House) -> None:
    await house.apply(wish("refused"), "agent:triage")
    asked = await house.pending("refused")
    assert (await house.word("deny", asked, reason="too much")).json()["state"] == "denied"
    assert await house.state("refused") == "rejected"
    again = await house.apply(wish("refused"), "agent:triage")
    assert (again.status_code, again.json()["code"]) == (403, "rejected")
    assert "too much" in again.json()["detail"]
    own = (await house.ask("GET", "approvals", "agent:triage", params={"state": "denied"})).json()["items"]
    assert [(one["name"], one["reason"]) for one in own] == [("refused", "too much")]
    changed = await house.apply(wish("refused", instruction="Only read."), "agent:triage")
    assert changed.json()["objects"][0]["state"] == "pending_approval"
    person = await house.apply(wish("refused").replace("agent:triage\n  agent", "user:marta\n  agent"))
    assert person.json()["objects"][0]["state"] == "active", person.text


async def test_a_widening_edit_waits_while_the_approved_text_runs_and_a_narrowing_does_not(
    house: House,
) -> None:
    await house.apply(wish("edited"), "agent:triage")
    await house.word("approve", await house.pending("edited"))
    wider = (await house.apply(wish("edited", instruction="Send it."), "agent:triage")).json()["objects"][0]
    assert (wider["change"], wider["state"], wider["waits"]) == ("pending", "active", ["instruction"])
    shown = (await house.ask("GET", "subscriptions/edited")).json()
    assert (shown["version"], shown["spec"]["instruction"]) == (1, "Draft a reply.")
    await house.word("approve", await house.pending("edited"))
    shown = (await house.ask("GET", "subscriptions/edited")).json()
    assert (shown["version"], shown["spec"]["instruction"]) == (2, "Send it.")
    narrow = wish("edited", instruction="Send it.") + "  mode: draft\n"
    done = (await house.apply(narrow, "agent:triage")).json()["objects"][0]
    assert (done["change"], done["version"], done["waits"]) == ("updated", 3, [])


async def test_an_expired_approval_is_refused(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding, "VALIDITY", timedelta(microseconds=1))
    await house.apply(wish("late"), "agent:triage")
    found = (await house.ask("GET", "approvals", params={"state": "expired"})).json()["items"]
    [asked] = [one for one in found if one["name"] == "late"]
    answer = await house.word("approve", asked)
    assert (answer.status_code, "expired" in answer.json()["detail"]) == (409, True)


@pytest.mark.req(134)
async def test_an_agent_approves_nothing(house: House) -> None:
    await house.apply(wish("own"), "agent:triage")
    for verb in ("approve", "deny"):
        answer = await house.word(verb, await house.pending("own"), "agent:triage")
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


async def test_who_widens_a_policy_cannot_release_it_alone(house: House) -> None:
    wide = POLICY.replace("NAME", "wide").replace("EFFECT", "permit").replace("QUORUM", "2")
    made = (await house.apply(wide)).json()["objects"][0]
    assert (made["state"], made["waits"]) == ("pending_approval", ["cedar"])
    before = (await house.ask("GET", "policy")).json()["version"]
    asked = await house.pending("wide")
    own = await house.word("approve", asked)
    assert (own.status_code, own.json()["rule"]) == (403, "four-eyes")
    first = (await house.word("approve", asked, "user:luis")).json()
    assert (first["state"], first["approved_by"]) == ("pending", ["user:luis"])
    assert (await house.word("approve", asked, "user:luis")).status_code == 409
    assert (await house.ask("GET", "policy")).json()["version"] == before
    assert (await house.word("approve", asked, "user:ana")).json()["state"] == "approved"
    assert (await house.ask("GET", "policy")).json()["version"] != before


async def test_a_policy_that_only_forbids_more_is_in_force_at_once(house: House) -> None:
    tight = POLICY.replace("NAME", "tight").replace("EFFECT", "forbid").replace("QUORUM", "1")
    assert (await house.apply(tight)).json()["objects"][0]["state"] == "active"
    loose = (await house.apply(tight.replace("audit", "stop"))).json()["objects"][0]
    assert (loose["change"], loose["state"]) == ("pending", "active")


async def test_the_answer_to_parked_work_is_a_platform_event(house: House) -> None:
    message = "msg_" + "ab" * 16
    body = {"outcome": "answered", "answer": "the red one"}
    refused = await house.ask("POST", f"answers/{message}", "agent:triage", json=body)
    assert refused.status_code == 403
    assert (await house.post(f"answers/{message}", body, "user:luis"))["message"] == message
    said = (await house.announced())[-1]
    assert said == {"kind": "message", "message": message, **body, "by": "user:luis"}


async def test_gauges_count_what_waits_and_for_how_long(house: House, module_engines: Engines) -> None:
    async def shown() -> dict[str, float]:
        found = {reading.name: reading.value for reading in await look()}
        return {name.rpartition(".")[2]: value for name, value in found.items()}

    pool = await open_pool(module_engines.control_dsn, application_name="tests", max_size=1)
    try:
        look = governance(pool)
        before = await shown()
        await house.apply(wish("counted"), "agent:triage")
        asked = await house.pending("counted")
        async with house.engine.begin() as connection:
            hour = "update control.approval set expires_at = expires_at - interval '1 hour' where subject_name = 'counted'"
            await connection.execute(text(hour))
        during = await shown()
        assert during["waiting"] == before["waiting"] + 1
        assert 3600 <= during["oldest"] < 4000
        await house.word("deny", asked)
        assert (await shown())["waiting"] == before["waiting"]
    finally:
        await pool.close()
