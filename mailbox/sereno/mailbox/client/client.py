"""`MailboxClient`: the verbs of the mailbox over HTTP, from asyncio."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import httpx

from sereno.envelope.identifiers import to_people
from sereno.mailbox.client.answers import MailboxRefusedError, MailboxUnansweredError, headers, reading
from sereno.mailbox.client.leased_message import LeasedMessage
from sereno.mailbox.engine import tracing
from sereno.mailbox.lease_items import AckItem, Answer, EmitItem, ParkItem, ReleaseItem, RenewItem, Status

REQUEST_SECONDS = 10.0
DATA_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Selection:
    """Which messages of a mailbox a person means; what is not given does not narrow."""

    subscription: str | None = None
    reason: str | None = None
    older_than: timedelta | None = None
    ids: Sequence[str] = ()

    def body(self) -> dict[str, Any]:
        """The filter as the API takes it."""
        given = {
            "subscription": self.subscription,
            "reason": self.reason,
            "older_than_seconds": None if self.older_than is None else self.older_than.total_seconds(),
            "ids": list(self.ids) or None,
        }
        return {key: value for key, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Emitted:
    """What became of one emitted event; `receiptid` names it when the lease was live."""

    token: int
    status: Status
    receiptid: str | None


class MailboxClient:
    """Claims, lease verbs, and what authorised people do, over one HTTP API and one pool of connections.

    Each lease verb takes many leases and answers one `Answer` an item. Raises `MailboxRefusedError` when the
    API refuses the request as a whole, `MailboxUnansweredError` when it does not answer or not now.
    """

    def __init__(self, url: str, token: str | None, *, tenant: str | None = None) -> None:
        self._query = f"?tenant={quote(tenant, safe='')}" if tenant else ""
        # The environment's proxies are for the internet; the token must not reach one.
        self._http = httpx.AsyncClient(
            base_url=url, headers=headers(token), timeout=REQUEST_SECONDS, trust_env=False
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def claim(
        self,
        agent: str,
        *,
        max: int = 1,  # noqa: A002 - the contract's name
        lease: timedelta | None = None,
        wait: timedelta = timedelta(0),
        incarnation: str = "",
    ) -> list[LeasedMessage]:
        """Lease up to `max` ready messages, after at most `wait`; without `lease` the message says how long."""
        body: dict[str, Any] = {
            "max": max,
            "wait_seconds": wait.total_seconds(),
            "incarnation": incarnation,
        }
        if lease is not None:
            body["lease_seconds"] = lease.total_seconds()
        answer = await self._post(
            f"{_mailbox(agent)}/claim{self._query}", body, REQUEST_SECONDS + wait.total_seconds()
        )
        return [LeasedMessage(document) for document in answer["messages"]]

    async def renew(self, items: Iterable[RenewItem]) -> list[Answer]:
        """Keep leases; `progress` is what people see meanwhile."""
        return await self._verb("renew", [{"token": i.token, "progress": i.progress} for i in items])

    async def ack(self, items: Iterable[AckItem]) -> list[Answer]:
        """Close work as done."""
        return await self._verb("ack", [_ack(item) for item in items])

    async def release(self, items: Iterable[ReleaseItem]) -> list[Answer]:
        """Give work back; `not_started` costs no attempt, `rejected` ends it."""
        return await self._verb("release", [_release(item) for item in items])

    async def check(self, tokens: Iterable[int]) -> list[Answer]:
        """Whether these holders may still act."""
        return await self._verb("check", [{"token": token} for token in tokens])

    async def park(self, items: Iterable[ParkItem]) -> list[Answer]:
        """Set work aside until it is answered; the answer comes with the next claim."""
        return await self._verb("park", [_park(item) for item in items])

    async def emit(self, items: Iterable[EmitItem]) -> list[Emitted]:
        """Events of the agents that hold these leases."""
        answer = await self._post(
            "/v1/leases/emit", {"items": [_emit(item) for item in items]}, REQUEST_SECONDS
        )
        return [
            Emitted(item["token"], Status(item["status"]), item.get("receiptid")) for item in answer["items"]
        ]

    async def data(self, reference: str, message_id: str) -> httpx.Response:
        """What the `dataref` of one of a message's envelopes points to.

        Raises `MailboxRefusedError`: 403 without the right to the message, 410 when the data is kept no longer.
        """
        if not reference.startswith("/v1/data/"):
            raise MailboxRefusedError(422, f"{reference} is kept by its source; read it there")
        try:
            answer = await self._http.get(reference, params={"message": message_id}, timeout=DATA_SECONDS)
        except httpx.HTTPError as fault:
            raise MailboxUnansweredError(f"the mailbox does not answer: {type(fault).__name__}") from fault
        if not answer.is_success:
            reading(answer)
        return answer

    async def resume(self, message_id: str, answer: Mapping[str, Any]) -> None:
        """Answer what a parked message waits for, as a person with the right to."""
        await self._post(
            f"/v1/messages/{quote(message_id, safe='')}/resume", {"answer": answer}, REQUEST_SECONDS
        )

    async def dead_letter(
        self,
        agent: str,
        selection: Selection,
        reason: str,
        *,
        preview: bool = False,
    ) -> int:
        """End open messages by a person's decision; how many. `preview` only counts."""
        return await self._bulk("dead-letter", agent, selection, reason, preview=preview)

    async def redrive(
        self,
        agent: str,
        selection: Selection,
        reason: str,
        *,
        preview: bool = False,
    ) -> int:
        """Make dead messages ready again with counters anew; how many. `preview` only counts."""
        return await self._bulk("redrive", agent, selection, reason, preview=preview)

    async def _bulk(self, verb: str, agent: str, selection: Selection, reason: str, *, preview: bool) -> int:
        body: dict[str, Any] = {"filter": selection.body(), "reason": reason, "preview": preview}
        answer = await self._post(f"{_mailbox(agent)}/{verb}{self._query}", body, REQUEST_SECONDS * 6)
        return int(answer["count"])

    async def _verb(self, name: str, items: Sequence[Mapping[str, Any]]) -> list[Answer]:
        answer = await self._post(f"/v1/leases/{name}", {"items": items}, REQUEST_SECONDS)
        return [to_answer(item) for item in answer["items"]]

    async def _post(self, path: str, body: Mapping[str, Any], timeout: float) -> Any:  # noqa: ASYNC109 - httpx enforces it
        try:
            answer = await self._http.post(path, json=body, headers=tracing.headers(), timeout=timeout)
        except httpx.HTTPError as fault:
            raise MailboxUnansweredError(f"the mailbox does not answer: {type(fault).__name__}") from fault
        return reading(answer)


def to_answer(item: Mapping[str, Any]) -> Answer:
    """One item of an answer to a lease verb."""
    until = item.get("until")
    return Answer(
        item["token"],
        Status(item["status"]),
        None if until is None else datetime.fromisoformat(until),
        item.get("state"),
    )


def _mailbox(agent: str) -> str:
    return f"/v1/mailboxes/{quote(agent.removeprefix('agent:'), safe='')}"


def _ack(item: AckItem) -> dict[str, Any]:
    usage = {} if item.usage is None else {"usage": dict(item.usage)}
    return {"token": item.token, "result": item.result} | usage


def _release(item: ReleaseItem) -> dict[str, Any]:
    after = {} if item.retry_after is None else {"retry_after": item.retry_after}
    return {"token": item.token, "reason": item.reason} | after


def _park(item: ParkItem) -> dict[str, Any]:
    given = {
        "token": item.token,
        "waiting_for": item.waiting_for,
        "question": item.question,
        "options": list(item.options) or None,
        "deadline": None if item.deadline is None else item.deadline.isoformat(),
        "remind_after_seconds": item.remind_after_seconds,
        "dependency": None if item.dependency is None else to_people("msg", item.dependency),
    }
    return {key: value for key, value in given.items() if value is not None}


def _emit(item: EmitItem) -> dict[str, Any]:
    subject = {} if item.subject is None else {"subject": item.subject}
    return {"token": item.token, "type": item.type, "data": item.data} | subject
