"""Synthetic load: one turn does everything once that a board shows, with the verbs of outsiders."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sereno.deploy.identities import Identities
from sereno.deploy.nats_identities import OPERATOR
from sereno.mailbox import stop
from sereno.mailbox.engine import bus
from sereno.mailbox.engine.postgres import open_pool
from tests.dashboards.documents import subscription
from tests.e2e.running import Running, github_headers, pull_request, until
from tests.openai_server import Reply

EVERY_FOURTH = 4
LEAST = 6
BUSY = 503


@dataclass(slots=True)
class Judge:
    """It fires for even numbers, and every fourth call fails."""

    calls: int = 0

    def __call__(self, request: Mapping[str, Any]) -> Reply:
        """The answer to one call."""
        self.calls += 1
        if self.calls % EVERY_FOURTH == 0:
            return Reply("", status=500)
        found = []
        for line in request["messages"][1]["content"].splitlines()[1:-1]:
            _, item, data = line.split(" ", 2)
            fires = json.loads(data)["data"]["number"] % 2 == 0
            evidence = [{"item": item, "quote": "rounding of prices"}] if fires else []
            found.append({"item": item, "fires": fires, "confidence": 0.9, "evidence": evidence})
        return Reply(json.dumps(found[0] if len(found) == 1 else {"verdicts": found}))


@dataclass(slots=True)
class Load:
    """The senders, workers and people of one installation."""

    sereno: Running
    endpoint: str
    asker: str
    turns: int = 0

    def turn(self) -> None:
        """Everything once."""
        self.turns += 1
        for number in range(self.turns * 10, self.turns * 10 + 6):
            self._send(number)
        self._send(self.turns * 10, again=True)
        self._work()
        self._govern()

    def _send(self, number: int, *, again: bool = False) -> None:
        body = pull_request(number)
        headers = github_headers(body, f"delivery-{number}-{again}")
        assert self.sereno.http.post(self.endpoint, content=body, headers=headers).status_code == 202
        bad = self.sereno.http.post(
            self.endpoint, content=body, headers=github_headers(body, "x", secret="no")
        )
        assert bad.status_code == 401

    def _claim(self, agent: str, most: int, **more: Any) -> list[Any]:
        asked = {"max": most, "lease_seconds": 30, "wait_seconds": 5, "incarnation": "load", **more}
        found: list[Any] = self.sereno.execution("POST", f"/v1/mailboxes/{agent}/claim", asked)["messages"]
        return found

    def _verb(self, verb: str, *tokens: int, **fields: Any) -> list[Any]:
        items = [{"token": token, **fields} for token in tokens]
        found: list[Any] = self.sereno.execution("POST", f"/v1/leases/{verb}", {"items": items})["items"]
        return found

    def _work(self) -> None:
        tokens: list[int] = []
        while len(tokens) < LEAST:
            tokens += [one["lease"]["token"] for one in self._claim("worker", 12)]
        first, second, third, fourth, fifth, *others = tokens
        self._verb("renew", first, second)
        self._verb("check", first)
        self._verb("emit", first, type="com.acme.noted", data={"turn": self.turns})
        self._verb("release", first, reason="not_started")
        self._verb("release", second, reason="rejected")
        self._verb("park", third, waiting_for="approval", question="May I?")
        self._verb("park", fourth, waiting_for="question", question="Which?", options=["a", "b"])
        used = {"model": "tiny", "cost": [{"amount": "0.02", "currency": "EUR"}]}
        self._verb("ack", fifth, *others, usage=used)
        self._verb("ack", first, second, fifth)
        self._answer()
        self._lose()

    def _lose(self) -> None:
        """One lease runs out."""
        held = self._claim("worker", 1, lease_seconds=1)
        if held:
            token = held[0]["lease"]["token"]
            until(lambda: self._verb("check", token)[0]["status"] != "ok")
            self._verb("renew", token)

    def _answer(self) -> None:
        parked = self.sereno.execution("GET", "/v1/mailboxes/worker/messages?state=parked")["messages"]
        for one in parked[1:2]:
            self.sereno.control(
                "POST", f"/v1/answers/{one['id']}", {"outcome": "answered", "answer": {"choice": "a"}}
            )

    def _asked(self, wish: str) -> bool:
        """Whether the agent was heard; a database that is busy is asked again."""
        answer = self.sereno.http.post(
            f"{self.sereno.control_url}/v1/apply",
            json={"documents": wish},
            headers={"Authorization": f"Bearer {self.asker}"},
        )
        assert answer.is_success or answer.status_code == BUSY, answer.text
        return answer.is_success

    def _govern(self) -> None:
        """An agent asks for two subscriptions; a person releases one and refuses the other. A third one waits."""
        for name in ("yes", "no", *(["later"] if self.turns == 1 else [])):
            wish = subscription(
                f"{name}-{self.turns}", "{time: {every: 1h}}", agent="asker", owner="agent:asker"
            )
            until(partial(self._asked, wish))
        for one in self.sereno.control("GET", "/v1/approvals?state=pending")["items"]:
            word = {"yes": "approve", "no": "deny"}.get(one["name"].partition("-")[0])
            if word is not None:
                body = {"digest": one["digest"], "reason": "looked at"}
                self.sereno.control("POST", f"/v1/approvals/{one['id']}/{word}", body)
        self.sereno.control("GET", "/v1/audit/verify")


def prepared(sereno: Running, endpoint: str) -> Load:
    """The load of an installation in which the documents are in force."""
    sereno.control("POST", "/v1/grants", {"to": "agent:asker", "source": "time"})
    token = sereno.control("POST", "/v1/tokens", {"principal": "agent:asker"})["token"]
    sereno.control("POST", "/v1/subscriptions/paused/pause", {"reason": "for the proof"})
    discovery = json.loads((sereno.data / "sereno.json").read_bytes())
    asyncio.run(_stop_one(discovery["postgres"]))
    return Load(sereno, endpoint, token)


async def _stop_one(dsn: str) -> None:
    pool = await open_pool(dsn, application_name="proof", max_size=1)
    try:
        await stop.engage(pool, "default/agent/halted", reason="for the proof", principal="user:admin")
    finally:
        await pool.close()


def forge(sereno: Running, number: int) -> None:
    """Put something into the bucket of manifests that nobody signed."""

    async def put() -> None:
        discovery = json.loads((sereno.data / "sereno.json").read_bytes())
        seed = Identities(sereno.data / "secrets").seeds[OPERATOR]
        nats = await bus.connect(discovery["nats"], name="proof", seed=seed)
        try:
            await nats.jetstream().publish(f"$KV.{bus.MANIFESTS}.manifest.forged", b'{"forged": %d}' % number)
        finally:
            await nats.close()

    asyncio.run(put())
