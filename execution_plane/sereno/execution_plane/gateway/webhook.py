"""Webhooks over HTTP: authenticate, make durable, answer 202; and the CloudEvents handshake on OPTIONS."""

import hashlib
import os
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import NamedTuple

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from sereno.envelope.identifiers import RANDOM_BYTES, shown, uuid7_text
from sereno.execution_plane.catalog.catalog import Catalog
from sereno.execution_plane.deliveries.delivery import Delivery, Verdict
from sereno.execution_plane.gateway import handshake, trace
from sereno.execution_plane.gateway.admission import NOWHERE, Admission, Admitted, Arrival, Refused
from sereno.execution_plane.gateway.endpoint import Endpoint
from sereno.execution_plane.gateway.group_commit import GroupCommit, NotStoredError
from sereno.execution_plane.gateway.headers import Received
from sereno.execution_plane.gateway.ping import Answered
from sereno.execution_plane.gateway.turns import Turns
from sereno.mailbox.engine.problems import Problem, respond
from sereno.mailbox.engine.telemetry import logger, spread, tally

RETRY_AFTER_SECONDS = 2
ACCEPTED = 202
_SIGN_THE_URL = frozenset({"twilio", "rfc9421"})
_log = logger("gateway")
_requests = tally("sereno.webhook.requests")
_duration = spread("sereno.webhook.duration")
_stored = tally("sereno.ingress.events")


Withhold = Callable[[Admitted], Awaitable[Admitted]]
"""Puts large data away before its envelope is stored; raises `NotStoredError`."""


class _Waiting(NamedTuple):
    """What is left of a request while it waits for the disk.

    Hundreds wait at a time; if each kept its body and what was parsed of it, no cache would hold them.
    """

    tenant: str
    endpoint: str
    recorded: datetime
    size: int
    verdict: Verdict
    reason: str | None
    receipts: tuple[str, ...]
    encoded: tuple[bytes, ...]
    large: Admitted | None
    answer: Answered | Refused | None


class WebhookGateway:
    """The HTTP face of the ingress; `clock` gives the time of receipt, `record` keeps deliveries, `public_url` is where senders reach it."""

    def __init__(
        self,
        catalog: Catalog,
        admission: Admission,
        commit: GroupCommit,
        clock: Callable[[], datetime],
        *,
        record: Callable[[Delivery], None],
        public_url: str = "",
        withhold: Withhold | None = None,
    ) -> None:
        self._catalog = catalog
        self._admission = admission
        self._commit = commit
        self._clock = clock
        self._record = record
        self._public_url = public_url.rstrip("/")
        self._withhold = withhold
        self._turns = Turns()

    async def post(self, endpoint_token: str, request: Request) -> Response:
        """Receive one request of a sender."""
        began = time.perf_counter()
        try:
            await self._turns.take()
            waiting = self._read(endpoint_token, request, await request.body())
            response = await self._store(waiting) if waiting.answer is None else _answer(waiting.answer)
            # Also where there is no endpoint: the log leaves it out, at the same cost.
            self._record(_delivery(waiting, response.status_code, time.perf_counter() - began))
        except ClientDisconnect:
            response = Response(status_code=400)
        except HTTPException:
            raise
        except Exception as fault:  # noqa: BLE001 - the general handler would log the path, and it holds the token
            _log.error("webhook_fault", exc_info=fault)
            response = respond(Problem(500, "fault", "an internal fault; it was logged"))
        _requests.add(1, response.status_code)
        _duration.add(time.perf_counter() - began)
        return response

    def handshake(self, request: Request) -> Response:
        """Answer who asks whether it may send; see `handshake`."""
        return Response(
            status_code=200, headers=dict(handshake.answer(Received.of(request.scope["headers"])))
        )

    def _read(self, endpoint_token: str, request: Request, body: bytes) -> _Waiting:
        recorded = self._clock()
        endpoint = self._catalog.endpoint(hashlib.sha256(endpoint_token.encode()).hexdigest())
        headers = Received.of(request.scope["headers"])
        client = request.scope.get("client")
        arrival = Arrival(
            headers,
            body,
            recorded,
            trace.continued(headers, os.urandom),
            self._url(endpoint, request),
            request.method,
            client[0] if client else None,
        )
        return _waiting(endpoint or NOWHERE, arrival, self._admission.admit(endpoint, arrival))

    def _url(self, endpoint: Endpoint | None, request: Request) -> str:
        """The public URL of the request, as the sender signed it; a proxy may have taken off the TLS."""
        if endpoint is None or endpoint.scheme.name not in _SIGN_THE_URL:
            return ""
        base = endpoint.public_url or self._public_url + request.url.path
        query = request.url.query
        return f"{base}?{query}" if query else base

    async def _store(self, waiting: _Waiting) -> Response:
        if not waiting.receipts:
            return _accepted([])
        encoded = waiting.encoded
        try:
            if waiting.large is not None and self._withhold is not None:
                encoded = (await self._withhold(waiting.large)).encoded
            await self._commit.store(waiting.tenant, encoded)
        except NotStoredError as fault:
            _log.warning("not_stored", tenant=waiting.tenant, error=str(fault))
            problem = Problem(503, "not_stored", "the event could not be stored; send it again")
            return respond(problem, {"Retry-After": str(RETRY_AFTER_SECONDS)})
        _stored.add(len(waiting.receipts), waiting.tenant, "webhook")
        return _accepted([shown("rcp", receipt) for receipt in waiting.receipts])


def _waiting(endpoint: Endpoint, arrival: Arrival, decision: Admitted | Answered | Refused) -> _Waiting:
    verdict, reason, admitted = _verdict(decision)
    return _Waiting(
        endpoint.tenant,
        endpoint.name,
        arrival.recorded,
        len(arrival.body),
        verdict,
        reason,
        () if admitted is None else tuple([envelope.receiptid for envelope in admitted.envelopes]),
        () if admitted is None else admitted.encoded,
        admitted if admitted is not None and admitted.is_large else None,
        None if isinstance(decision, Admitted) else decision,
    )


def _verdict(decision: Admitted | Answered | Refused) -> tuple[Verdict, str | None, Admitted | None]:
    if isinstance(decision, Refused):
        return "refused", decision.reason or decision.code, None
    if isinstance(decision, Answered):
        return "answered", decision.reason, None
    return ("paused" if decision.paused else "accepted"), None, decision


def _answer(decision: Answered | Refused) -> Response:
    if isinstance(decision, Refused):
        return _problem(decision)
    return Response(decision.body, decision.status, media_type=decision.media_type)


def _delivery(waiting: _Waiting, status: int, seconds: float) -> Delivery:
    stored = waiting.answer is not None or status == ACCEPTED
    millis = int(waiting.recorded.timestamp() * 1000)
    return Delivery(
        tenant=waiting.tenant,
        id=uuid7_text(millis, os.urandom(RANDOM_BYTES)),
        endpoint=waiting.endpoint,
        received=waiting.recorded,
        verdict=waiting.verdict if stored else "not_stored",
        status=status,
        reason=waiting.reason,
        latency_ms=seconds * 1000,
        size=waiting.size,
        receipts=waiting.receipts if stored else (),
    )


def _accepted(receipts: list[str]) -> Response:
    body: dict[str, object] = {"id": receipts[0] if receipts else None}
    if len(receipts) != 1:
        body["ids"] = receipts
    return Response(orjson.dumps(body), 202, media_type="application/json")


def _problem(refused: Refused) -> Response:
    members = {} if refused.field is None else {"field": refused.field}
    waiting = {} if refused.retry_after is None else {"Retry-After": str(refused.retry_after)}
    return respond(Problem(refused.status, refused.code, refused.detail, **members), waiting)
