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

from sereno.envelope.identifiers import shown
from sereno.execution_plane.catalog.catalog import Catalog
from sereno.execution_plane.gateway import handshake, trace
from sereno.execution_plane.gateway.admission import Admission, Admitted, Arrival, Refused
from sereno.execution_plane.gateway.group_commit import GroupCommit, NotStoredError
from sereno.execution_plane.gateway.headers import Headers
from sereno.mailbox.engine.problems import Problem, respond
from sereno.mailbox.engine.telemetry import histogram, logger, tally

RETRY_AFTER_SECONDS = 2
_log = logger("gateway")
_requests = tally("sereno.webhook.requests")
_duration = histogram("sereno.webhook.duration")
_stored = tally("sereno.ingress.events")


Withhold = Callable[[Admitted], Awaitable[Admitted]]
"""Puts large data away before its envelope is stored; raises `NotStoredError`."""


class WebhookGateway:
    """The HTTP face of the ingress; `clock` gives the time of receipt."""

    def __init__(
        self,
        catalog: Catalog,
        admission: Admission,
        commit: GroupCommit,
        clock: Callable[[], datetime],
        *,
        withhold: Withhold | None = None,
    ) -> None:
        self._catalog = catalog
        self._admission = admission
        self._commit = commit
        self._clock = clock
        self._withhold = withhold

    async def post(self, endpoint_token: str, request: Request) -> Response:
        """Receive one request of a sender."""
        began = time.perf_counter()
        try:
            response = await self._receive(endpoint_token, request)
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

    async def _receive(self, endpoint_token: str, request: Request) -> Response:
        body = await request.body()
        recorded = self._clock()
        endpoint = self._catalog.endpoint(hashlib.sha256(endpoint_token.encode()).hexdigest())
        headers = _headers(request)
        context = trace.continued(headers, os.urandom)
        decision = self._admission.admit(endpoint, Arrival(headers, body, recorded, context))
        if isinstance(decision, Refused):
            return _problem(decision)
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


def _headers(request: Request) -> Headers:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.scope["headers"]]


def _accepted(receipts: list[str]) -> Response:
    body: dict[str, object] = {"id": receipts[0] if receipts else None}
    if len(receipts) != 1:
        body["ids"] = receipts
    return Response(orjson.dumps(body), 202, media_type="application/json")


def _problem(refused: Refused) -> Response:
    members = {} if refused.field is None else {"field": refused.field}
    return respond(Problem(refused.status, refused.code, refused.detail, **members))
