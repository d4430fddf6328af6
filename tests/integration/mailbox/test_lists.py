"""`sereno mailbox list|show`: ages, holders with their tokens, filters; and the knobs of a lease that they show."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from sereno.mailbox.commands.lists import list_mailboxes, show
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.lease_items import ReleaseItem
from sereno.mailbox.message import SubscriptionRef
from sereno.mailbox.principal import Principal
from sereno.mailbox.verbs import Mailbox
from tests.integration.mailbox.conftest import CommandLine
from tests.mailbox_messages import message
from tests.mailbox_reading import events

TRIAGE = Principal("agent:triage", "acme")
Printed = Callable[..., Awaitable[str]]


@pytest.fixture
def printed(url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Printed:
    """What a command prints when it asks the API with the worker's token."""
    monkeypatch.setenv("COLUMNS", "240")

    async def run(command: Callable[..., None], **options: Any) -> str:
        capsys.readouterr()
        await asyncio.to_thread(lambda: command(**options, url=url, token="worker-token"))
        return capsys.readouterr().out

    return run


async def put(pool: AnyPool, **fields: object) -> None:
    async with pool.acquire() as conn:
        await deposit(conn, [message(**fields)])


async def listed(printed: Printed, **options: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(
        await printed(list_mailboxes, agent="triage", json=True, **options)
    )["messages"]
    return rows


async def test_a_held_message_shows_its_holder_its_token_and_when_the_lease_ends(
    pool: AnyPool, mailbox: Mailbox, printed: Printed
) -> None:
    await put(pool)
    [claimed] = await mailbox.claim(
        "acme", "triage", lease_seconds=40, incarnation="box:42:9f3c", principal=TRIAGE
    )
    await put(pool)
    text = await printed(list_mailboxes, agent="agent:triage")
    head, *rows = text.splitlines()
    assert head.split("  ")[0] == "id"
    held = next(row for row in rows if "leased" in row)
    free = next(row for row in rows if "ready" in row)
    for shown in (str(claimed.lease.token), "agent:triage", "box:42:9f3c", "refund-watch"):
        assert shown in held
    assert any(f"{seconds}s" in held for seconds in range(25, 41))
    assert "agent:triage" not in free
    assert "box:42:9f3c" not in free
    [row] = [row for row in await listed(printed) if row["state"] == "leased"]
    assert (row["token"], row["holder"], row["incarnation"]) == (
        claimed.lease.token, "agent:triage", "box:42:9f3c",
    )  # fmt: skip


async def test_mailboxes_are_counted_with_the_age_of_the_oldest(pool: AnyPool, printed: Printed) -> None:
    await put(pool)
    text = await printed(list_mailboxes)
    assert "oldest ready" in text
    assert "triage" in text
    [box] = json.loads(await printed(list_mailboxes, json=True))["mailboxes"]
    assert (box["tenant"], box["agent"], box["ready"]) == ("acme", "triage", 1)


async def test_filters_narrow_the_list(pool: AnyPool, mailbox: Mailbox, printed: Printed) -> None:
    await put(pool)
    [claimed] = await mailbox.claim("acme", "triage", incarnation="w")
    await mailbox.release([ReleaseItem(claimed.lease.token, "rejected")])
    await put(pool, subscription=SubscriptionRef("other-watch", 1))
    assert len(await listed(printed)) == 2
    assert [row["state"] for row in await listed(printed, state="ready")] == ["ready"]
    assert [row["reason"] for row in await listed(printed, died_of="rejected")] == ["rejected"]
    assert await listed(printed, died_of="exhausted") == []
    [other] = await listed(printed, subscription="other-watch")
    assert other["subscription"] == {"name": "other-watch", "version": 1}
    assert await listed(printed, older_than="1h") == []
    assert len(await listed(printed, older_than="0s", limit=1)) == 1
    # Narrowed where the messages are: what is newer and not meant takes no place of the limit.
    assert [row["state"] for row in await listed(printed, subscription="refund-watch", limit=1)] == ["dead"]
    assert await listed(printed, state="dead", subscription="other-watch") == []
    [claimed] = await mailbox.claim("acme", "triage", incarnation="box:7:aa", principal=TRIAGE)
    await put(pool)
    for holder in ("agent:triage", "box:7:aa"):
        [row] = await listed(printed, holder=holder, limit=1)
        assert (row["token"], row["state"]) == (claimed.lease.token, "leased")
    assert await listed(printed, holder="agent:other") == []
    assert len(await listed(printed, state="acked")) == 0


NONSENSE: list[tuple[dict[str, str], str]] = [
    ({"state": "asleep"}, "query.state"),
    ({"state": "ready", "reason": "exhausted"}, "query.reason"),
    ({"state": "dead", "holder": "w"}, "query.holder"),
    ({"reason": "exhausted", "holder": "w"}, "query.holder"),
    ({"older_than_seconds": "-1"}, "query.older_than_seconds"),
    ({"older_than_seconds": "nan"}, "query.older_than_seconds"),
    ({"older_than_seconds": "1e300"}, "query.older_than_seconds"),
    ({"limit": "0"}, "query.limit"),
    ({"limit": "1000000"}, "query.limit"),
    ({"subscription": ""}, "query.subscription"),
    ({"holder": "a\0b"}, "query.holder"),
]


async def test_a_filter_that_makes_no_sense_is_refused_by_name(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, headers={"Authorization": "Bearer worker-token"}) as api:
        for query, field in NONSENSE:
            answer = await api.get("/v1/mailboxes/triage/messages", params=query)
            assert answer.status_code == 422, query
            assert [fault["path"] for fault in answer.json()["faults"]] == [field]


async def test_a_message_is_shown_with_every_lease_it_had(
    pool: AnyPool, mailbox: Mailbox, printed: Printed
) -> None:
    await put(pool)
    [claimed] = await mailbox.claim("acme", "triage", incarnation="w", lease_seconds=17)
    [row] = await listed(printed)
    text = await printed(show, message=row["id"])
    assert "age" in text
    assert '{"name":"refund-watch","version":3}' in text
    assert "{'" not in text
    assert str(claimed.lease.token) in text
    assert "17" in text


async def test_q09_every_knob_of_a_lease_is_set_from_outside_and_shown(
    pool: AnyPool, sereno: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """30-second stalls doubled jobs, and the time could not be set on the command line."""
    await put(pool)
    monkeypatch.setenv("SERENO_WORK_LEASE", "1m17s")
    monkeypatch.setenv("SERENO_WORK_GRACE", "5s")
    monkeypatch.setenv("SERENO_WORK_CONCURRENCY", "2")
    monkeypatch.setenv("SERENO_WORK_PREFETCH", "3")
    status, _, err = await sereno.run("work", "triage", "--exec", "true", "--max", "1")
    assert (status, err) == (0, "")
    [claimed] = await events(pool, "claimed")
    assert claimed["data"]["lease_seconds"] == 77


async def test_q09_a_status_shows_the_terms_of_a_lease(
    pool: AnyPool, mailbox: Mailbox, printed: Printed
) -> None:
    """By the subscription (`delivery`), and by the claim that asked for another length."""
    await put(pool, lease_seconds=30, max_run_seconds=600, max_age_seconds=7200, max_attempts=7)
    await mailbox.claim("acme", "triage", lease_seconds=77, incarnation="w")
    [row] = await listed(printed)
    assert (row["granted_seconds"], row["max_attempts"]) == (77, 7)
    assert "1m17s" in await printed(list_mailboxes, agent="triage")
    whole = json.loads(await printed(show, message=row["id"], json=True))
    terms = {"granted_seconds": 77, "lease_seconds": 30, "max_run_seconds": 600, "max_age_seconds": 7200}
    assert {name: whole[name] for name in terms} == terms
