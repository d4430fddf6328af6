"""Webhooks over HTTP: authenticate, make durable, answer 202; and the CloudEvents handshake on OPTIONS."""

import hashlib
import os
import time
from collections.abc import Awaitable, Callable
from datetime import datetime

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
from sereno.execution_plane.gateway.headers import Headers
from sereno.execution_plane.gateway.ping import Answered
from sereno.mailbox.engine.problems import Problem, respond
from sereno.mailbox.engine.telemetry import histogram, logger, tally

RETRY_AFTER_SECONDS = 2
ACCEPTED = 202
_SIGN_THE_URL = frozenset({"twilio", "rfc9421"})
_log = logger("gateway")
_requests = tally("sereno.webhook.requests")
_duration = histogram("sereno.webhook.duration")
_stored = tally("sereno.ingress.events")


Withhold = Callable[[Admitted], Awaitable[Admitted]]
"""Puts large data away before its envelope is stored; raises `NotStoredError`."""


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

    async def post(self, endpoint_token: str, request: Request) -> Response:
        """Receive one request of a sender."""
        began = time.perf_counter()
        try:
            response = await self._receive(endpoint_token, request, began)
        except ClientDisconnect:
            response = Response(status_code=400)
        except HTTPException:
            raise
        except Exception as fault:  # noqa: BLE001 - the general handler would log the path, and it holds the token
            _log.error("webhook_fault", exc_info=fault)
            response = respond(Problem(500, "fault", "an internal fault; it was logged"))
        _requests.add(1, response.status_code)
        _duration.record(time.perf_counter() - began)
        return response

    def handshake(self, request: Request) -> Response:
        """Answer who asks whether it may send; see `handshake`."""
        return Response(status_code=200, headers=dict(handshake.answer(_headers(request))))

    async def _receive(self, endpoint_token: str, request: Request, began: float) -> Response:
        body = await request.body()
        recorded = self._clock()
        endpoint = self._catalog.endpoint(hashlib.sha256(endpoint_token.encode()).hexdigest())
        headers = _headers(request)
        arrival = Arrival(
            headers,
            body,
            recorded,
            trace.continued(headers, os.urandom),
            self._url(endpoint, request),
            request.method,
            request.client.host if request.client else None,
        )
        decision = self._admission.admit(endpoint, arrival)
        response = await self._answer(decision)
        # Also where there is no endpoint: the log leaves it out, at the same cost.
        self._record(_delivery(endpoint or NOWHERE, arrival, decision, response, time.perf_counter() - began))
        return response

    def _url(self, endpoint: Endpoint | None, request: Request) -> str:
        """The public URL of the request, as the sender signed it; a proxy may have taken off the TLS."""
        if endpoint is None or endpoint.scheme.name not in _SIGN_THE_URL:
            return ""
        base = endpoint.public_url or self._public_url + request.url.path
        query = request.url.query
        return f"{base}?{query}" if query else base

    async def _answer(self, decision: Admitted | Answered | Refused) -> Response:
        if isinstance(decision, Refused):
            return _problem(decision)
        if isinstance(decision, Answered):
            return Response(decision.body, decision.status, media_type=decision.media_type)
        return await self._store(decision)

    async def _store(self, admitted: Admitted) -> Response:
        if not admitted.envelopes:
            return _accepted([])
        tenant = admitted.envelopes[0].tenantid
        try:
            if self._withhold is not None:
                admitted = await self._withhold(admitted)
            await self._commit.store(tenant, admitted.encoded)
        except NotStoredError as fault:
            _log.warning("not_stored", tenant=tenant, error=str(fault))
            problem = Problem(503, "not_stored", "the event could not be stored; send it again")
            return respond(problem, {"Retry-After": str(RETRY_AFTER_SECONDS)})
        _stored.add(len(admitted.envelopes), "webhook")
        return _accepted([shown("rcp", envelope.receiptid) for envelope in admitted.envelopes])


def _delivery(
    endpoint: Endpoint,
    arrival: Arrival,
    decision: Admitted | Answered | Refused,
    response: Response,
    seconds: float,
) -> Delivery:
    verdict, reason, receipts = _verdict(decision, response)
    millis = int(arrival.recorded.timestamp() * 1000)
    return Delivery(
        tenant=endpoint.tenant,
        id=uuid7_text(millis, os.urandom(RANDOM_BYTES)),
        endpoint=endpoint.name,
        received=arrival.recorded,
        verdict=verdict,
        status=response.status_code,
        reason=reason,
        latency_ms=seconds * 1000,
        size=len(arrival.body),
        receipts=receipts,
    )


def _verdict(
    decision: Admitted | Answered | Refused, response: Response
) -> tuple[Verdict, str | None, tuple[str, ...]]:
    if isinstance(decision, Refused):
        return "refused", decision.reason or decision.code, ()
    if isinstance(decision, Answered):
        return "answered", decision.reason, ()
    if response.status_code != ACCEPTED:
        return "not_stored", None, ()
    receipts = tuple(envelope.receiptid for envelope in decision.envelopes)
    return ("paused" if decision.paused else "accepted"), None, receipts


def _headers(request: Request) -> Headers:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.scope["headers"]]


def _accepted(receipts: list[str]) -> Response:
    body: dict[str, object] = {"id": receipts[0] if receipts else None}
    if len(receipts) != 1:
        body["ids"] = receipts
    return Response(orjson.dumps(body), 202, media_type="application/json")


def _problem(refused: Refused) -> Response:
    members = {} if refused.field is None else {"field": refused.field}
    waiting = {} if refused.retry_after is None else {"Retry-After": str(refused.retry_after)}
    return respond(Problem(refused.status, refused.code, refused.detail, **members), waiting)
