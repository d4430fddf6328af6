"""Notices: one a cause, from both planes, through every sink until it is taken, and answered from a phone."""

import base64
import hashlib
import hmac
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import pytest_asyncio
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword, Session
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import text
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sereno.control_plane.api import create_app
from sereno.control_plane.bootstrapping import bootstrap
from sereno.control_plane.minting import utc_now
from sereno.control_plane.notifying import link, sink
from sereno.control_plane.notifying.dispatcher import Dispatcher
from sereno.control_plane.reports.inbox import Position, receive
from sereno.control_plane.store.engine import open_engine
from sereno.deploy.ports import free_port
from sereno.mailbox import parking
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.lease_items import ParkItem
from sereno.mailbox.verbs import Mailbox
from sereno.mailbox.wake import Wake
from sereno.subscriptions.report import NoticeReport, loads
from tests.control_documents import AGENT, ENDPOINT, several
from tests.engines import Engines
from tests.integration.control_plane.test_approvals import ADMIN, House, ready, wish
from tests.mailbox_messages import message
from tests.mailbox_moves import put
from tests.serving import serving

pytestmark = pytest.mark.asyncio(loop_scope="module")
KEY = Ed25519PrivateKey.generate()
SECRET = b"0123456789abcdef0123456789abcdef"
OPEN = ["127.0.0.0/8"]


@dataclass
class Phone:
    """An HTTP receiver of pushes that answers `fails` times 503 first."""

    fails: int = 0
    taken: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    @property
    def app(self) -> Starlette:
        return Starlette(routes=[Route("/{topic}", self._take, methods=["POST"])])

    async def _take(self, request: Request) -> Response:
        if self.fails:
            self.fails -= 1
            return Response(status_code=503)
        self.taken.append((dict(request.headers), await request.body()))
        return Response()


@dataclass
class Post:
    """A mail server that wants a user and a password."""

    taken: list[str] = field(default_factory=list)

    async def handle_DATA(self, _server: Any, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        self.taken.append((envelope.content or b"").decode())  # type: ignore[union-attr]
        return "250 OK"


def admit(_server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
    right = isinstance(data, LoginPassword) and (data.login, data.password) == (b"sereno", b"sesame")
    return AuthResult(success=right)


class Inbox(House):
    pool: AnyPool
    execution: AnyPool

    def dispatcher(self, *sinks: dict[str, Any]) -> Dispatcher:
        return Dispatcher(self.pool, sink.read(sinks), KEY, "http://control")

    async def report(self, *told: NoticeReport) -> None:
        async with self.engine.begin() as connection:
            [[number]] = await connection.execute(
                text("select coalesce(max(position), 0) from control.inbox")
            )
            positions = {Position("execution", number + 1 + place): one for place, one in enumerate(told)}
            await receive(connection, positions)

    async def follow(self) -> None:
        """What the execution plane told since, once."""
        rows = await self.execution.fetch(
            "delete from execution.outbox where subject like 'sereno.reports.%' returning payload"
        )
        found = [loads(row["payload"]) for row in rows]
        await self.report(*(one for one in found if isinstance(one, NoticeReport)))

    async def page(self, method: str, url: str, **form: str) -> httpx.Response:
        return await self.client.request(method, urlsplit(url).path, data=form or None)

    async def tried(self, name: str) -> list[tuple[int, str | None, bool]]:
        rows = await self.pool.fetch(
            "select attempts, error, sent_at is not null as sent from control.notice_delivery"
            " where sink = $1 and (next_at is not null or sent_at is not null) order by id",
            name,
        )
        return [tuple(row) for row in rows]

    async def hurry(self) -> None:
        await self.pool.execute(
            "update control.notice_delivery set next_at = now() where next_at is not null"
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def inbox(module_engines: Engines) -> AsyncIterator[Inbox]:
    engine = open_engine(module_engines.control_dsn, application_name="tests", pool_size=8)
    await bootstrap(engine, hashlib.sha256(ADMIN.encode()).hexdigest())
    app = create_app(engine, execution_url="http://hooks.example", ready=ready, link_key=KEY)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://control") as client:
        made = Inbox(engine, client)
        made.pool = await open_pool(module_engines.control_dsn, application_name="tests", max_size=4)
        made.execution = await open_pool(module_engines.execution_dsn, application_name="tests", max_size=4)
        agent = AGENT.replace("exec}", "exec, capabilities: [subscribe]}")
        assert (await made.apply(several(agent, ENDPOINT))).is_success
        await made.post("grants", {"to": "agent:triage", "source": "webhook/zendesk"})
        for name, role in (("user:luis", "approver"), ("user:eva", "viewer"), ("agent:triage", None)):
            if role:
                await made.post("principals", {"name": name, "roles": [role]})
            made.tokens[name] = (await made.post("tokens", {"principal": name}))["token"]
        yield made
        await made.pool.close()
        await made.execution.close()
    await engine.dispose()


def told(cause: str, **fields: Any) -> NoticeReport:
    kind = cause.partition("/")[0]
    given = {"tenant": "default", "text": f"{cause} happened", "data": {}, "count": 1, "at": utc_now()}
    return NoticeReport(cause=cause, kind=kind, **(given | fields))


async def links(inbox: Inbox, person: str) -> list[tuple[str, str | None]]:
    """What a person would be sent, without any sink between."""
    sent: list[tuple[str, str | None]] = []

    async def keep(_sink: Any, one: Any) -> None:
        sent.append((one.notice["cause"], one.link))

    declared = {"name": person.removeprefix("user:"), "kind": "log", "person": person}
    dispatcher = Dispatcher(inbox.pool, sink.read([declared]), KEY, "http://control", keep)
    await dispatcher.begin()
    dispatcher._since = dict.fromkeys(dispatcher._since, utc_now() - timedelta(hours=1))
    await inbox.pool.execute("delete from control.notice_delivery where sink = $1", declared["name"])
    while await dispatcher.look():
        pass
    return sent


async def link_for(inbox: Inbox, person: str, words: str) -> str:
    found = [where for cause, where in await links(inbox, person) if words in cause and where]
    assert len(found) == 1, found
    return found[0]


@pytest.mark.req(118)
async def test_one_cause_is_one_notice_through_a_signed_webhook_however_often_it_comes(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPS_SECRET", "whsec_" + base64.b64encode(SECRET).decode())
    phone = Phone(fails=2)
    async with serving(phone.app) as url:
        hook = {
            "name": "ops",
            "kind": "webhook",
            "url": f"{url}/hook",
            "secret": "env:OPS_SECRET",
            "networks": OPEN,
        }
        dispatcher = inbox.dispatcher(hook)
        await dispatcher.begin()
        for count in (1, 2, 3):
            await inbox.report(told("dead/watch/exhausted", count=count))
        assert await dispatcher.look() == 1
        assert await inbox.tried("ops") == [(1, "it answered 503", False)]
        assert await dispatcher.look() == 0, "it waits before it tries again"
        # A process that dies in between is followed by another, which knows nothing of the first.
        again = inbox.dispatcher(hook)
        for _ in range(3):
            await inbox.hurry()
            await again.look()
        assert await inbox.tried("ops") == [(3, None, True)]
        [(headers, body)] = phone.taken
    signed = b".".join((headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body))
    expected = base64.b64encode(hmac.digest(SECRET, signed, "sha256")).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    data = httpx.Response(200, content=body).json()["data"]
    assert (data["cause"], data["count"], data["inbox"]) == ("dead/watch/exhausted", 3, "notify")


async def test_a_mail_server_and_a_push_service_take_it_too(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", "sesame")
    monkeypatch.setenv("PUSH_TOKEN", "tk_push")
    post, phone, port = Post(), Phone(), free_port()
    server = Controller(post, hostname="127.0.0.1", port=port, authenticator=admit, auth_require_tls=False)
    server.start()
    try:
        async with serving(phone.app) as url:
            mail = {
                "name": "mail", "kind": "email", "host": "127.0.0.1", "port": port, "security": "none",
                "sender": "sereno@example.org", "to": ["luis@example.org"], "user": "sereno",
                "password": "env:MAIL_PASSWORD", "person": "user:luis", "kinds": ["approval"],
            }  # fmt: skip
            push = {
                "name": "push", "kind": "ntfy", "url": f"{url}/topic", "token": "env:PUSH_TOKEN",
                "networks": OPEN, "person": "user:luis", "inbox": ["review"],
            }  # fmt: skip
            dispatcher = inbox.dispatcher(mail, push)
            await dispatcher.begin()
            await inbox.report(told("suspended/watch/1"))
            await inbox.apply(wish("mailed"), "agent:triage")
            assert await dispatcher.look() == 2
    finally:
        server.stop()
    [letter], [(headers, body)] = post.taken, phone.taken
    assert "Subject: Sereno: approval (default)" in letter
    assert "agent:triage asks for Subscription mailed" in body.decode()
    assert headers["authorization"] == "Bearer tk_push"
    assert (await inbox.page("GET", headers["click"])).status_code == 200
    asked = await inbox.pending("mailed")
    assert (await inbox.word("approve", asked)).is_success
    gone = await inbox.page("GET", headers["click"])
    assert gone.status_code == 410, "answered elsewhere"


async def test_a_secret_that_is_missing_is_named_and_never_shown(inbox: Inbox) -> None:
    dispatcher = inbox.dispatcher(
        {
            "name": "lost",
            "kind": "webhook",
            "url": "http://127.0.0.1:9/x",
            "secret": "env:NOT_SET",
            "networks": OPEN,
        }
    )
    await dispatcher.begin()
    await inbox.report(told("dead/lost/exhausted"))
    await dispatcher.look()
    [(_, error, _)] = await inbox.tried("lost")
    assert error == "the secret of sink lost: env:NOT_SET names nothing, or something blank"


@pytest.mark.req(118)
async def test_a_link_shows_exactly_what_is_asked_and_answers_once(inbox: Inbox) -> None:
    await inbox.apply(wish("by-phone", instruction="<b>Refund & close</b>"), "agent:triage")
    url = await link_for(inbox, "user:luis", "approval/")
    asked = await inbox.pending("by-phone")
    for _ in range(2):
        shown = await inbox.page("GET", url)
        assert shown.status_code == 200
        assert asked["digest"] in shown.text
        assert "&lt;b&gt;Refund &amp; close&lt;/b&gt;" in shown.text
        assert "<b>Refund" not in shown.text
        assert shown.headers["cache-control"] == "no-store"
    assert await inbox.state("by-phone") == "pending_approval", "looking changes nothing"
    assert (await inbox.page("POST", url, word="burn")).status_code == 422
    assert (await inbox.page("POST", url, word="approved", reason="fine")).status_code == 200
    assert await inbox.state("by-phone") == "active"
    again = await inbox.page("POST", url, word="denied")
    assert again.status_code == 410
    entry = (await inbox.ask("GET", f"approvals/{asked['id']}")).json()
    assert (entry["resolved_by"], entry["reason"]) == ("user:luis", "fine")
    listed = (await inbox.ask("GET", "notices", params={"inbox": "review", "open": True})).json()["notices"]
    assert asked["id"] not in str(listed)


async def test_a_link_is_bound_to_its_principal_its_text_and_its_time(inbox: Inbox) -> None:
    await inbox.apply(wish("bound"), "agent:triage")
    url = await link_for(inbox, "user:eva", "approval/")
    refused = await inbox.page("POST", url, word="approved")
    assert (refused.status_code, "may not" in refused.text) == (403, True)
    assert await inbox.state("bound") == "pending_approval"
    assert (await inbox.page("POST", url, word="approved")).status_code == 410, "used up by the refusal"
    good = await link_for(inbox, "user:luis", "approval/")
    written = good.rpartition("/")[2]
    found = link.read(written, KEY, utc_now())
    assert found is not None
    forged = link.write(found, Ed25519PrivateKey.generate())
    other = written[:-6] + ("AAAAAA" if written[-6:] != "AAAAAA" else "BBBBBB")
    for wrong in (forged, other, "x", "a.b", "é", "A" * 3000):
        assert (await inbox.page("GET", f"http://control/l/{wrong}")).status_code == 410
    assert link.read(written, KEY, found.expires) is None
    await inbox.apply(wish("bound", instruction="Something else."), "agent:triage")
    assert (await inbox.page("POST", good, word="approved")).status_code == 410, "another text was asked for"


async def test_a_question_of_parked_work_is_answered_from_the_page_as_data(inbox: Inbox) -> None:
    mailbox = Mailbox(inbox.execution)
    await put(inbox.execution, message(tenant="default"))
    [got] = await mailbox.claim("default", "triage", wait_seconds=10, incarnation="w")
    await mailbox.park(
        [
            ParkItem(
                got.lease.token,
                "question",
                question="Which colour?",
                options=["red", "blue"],
                remind_after_seconds=1,
            )
        ]
    )
    await inbox.follow()
    listed = (await inbox.ask("GET", "notices", params={"inbox": "question"})).json()["notices"]
    assert [one["data"]["options"] for one in listed] == [["red", "blue"]]
    await inbox.execution.execute("update mailbox.parked set remind_at = now()")
    await parking.sweep(inbox.execution, Wake(None), 10)
    await inbox.follow()
    url = await link_for(inbox, "user:luis", "waiting/")
    shown = await inbox.page("GET", url)
    assert re.findall(r'<option value="(\w+)">', shown.text) == ["red", "blue"]
    assert "Which colour?" in shown.text
    assert (await inbox.page("POST", url, word="answered", answer="green")).status_code == 422
    assert (await inbox.page("POST", url, word="answered", answer="blue")).status_code == 200
    said = (await inbox.announced())[-1]
    assert (said["outcome"], said["answer"], said["by"]) == ("answered", "blue", "user:luis")
    assert (await inbox.page("GET", url)).status_code == 410


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"name": "a", "kind": "pigeon"}, "pigeon"),
        ({"name": "a", "kind": "webhook", "url": "ftp://x", "secret": "env:X"}, "url: expected a URL"),
        ({"name": "a", "kind": "webhook", "url": "https://x", "secret": "whsec_abc"}, "secret"),
        ({"name": "a", "kind": "email", "host": "x", "sender": "a\nb", "to": ["b"]}, "sender"),
        ({"name": "a", "kind": "ntfy", "url": "https://x", "networks": ["x"]}, "expected a network"),
    ],
)
async def test_a_sink_that_cannot_be_used_is_refused_at_the_start_by_field(
    declared: dict[str, Any], message: str
) -> None:
    with pytest.raises(sink.SinksError, match=message) as refused:
        sink.read([declared])
    assert "whsec_abc" not in str(refused.value)
