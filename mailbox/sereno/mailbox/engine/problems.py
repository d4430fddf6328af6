"""Errors of the HTTP APIs as problem details (RFC 9457) with a stable `code`, and the probes of a process."""

from collections.abc import Mapping

import asyncpg
import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse, Response
from starlette.exceptions import HTTPException

from sereno.mailbox.engine import problem_details
from sereno.mailbox.engine.probes import RUNNING, Readiness, Refresh, no_gauges, readiness
from sereno.mailbox.engine.problem_details import MEDIA_TYPE
from sereno.mailbox.engine.telemetry import logger, metrics_page

_log = logger("http")
_CODES = {
    400: "bad_input",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
}


class Problem(Exception):  # noqa: N818 - RFC 9457 calls it a problem
    """A refusal that becomes a problem-details answer: HTTP status, stable code, a sentence, more members."""

    def __init__(self, status: int, code: str, detail: str, **members: object) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.members = members


UNSTORABLE = Problem(
    422, "bad_input", "expected text without the NUL character, which PostgreSQL cannot keep"
)


def respond(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """The HTTP answer of a problem."""
    body = {
        "type": "about:blank",
        "title": problem.code.replace("_", " "),
        "status": problem.status,
        "code": problem.code,
        "detail": problem.detail,
        **problem.members,
    }
    return Response(orjson.dumps(body), problem.status, dict(headers or {}), MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Make every error of the application a problem: refusals, validation, unknown routes, lost engines, faults."""
    problem_details.describe(app)

    @app.exception_handler(Problem)
    async def refused(_request: Request, problem: Problem) -> Response:
        return respond(problem)

    @app.exception_handler(RequestValidationError)
    async def invalid(_request: Request, error: RequestValidationError) -> Response:
        faults = [
            {"path": ".".join(str(part) for part in fault["loc"]), "message": fault["msg"]}
            for fault in error.errors()
        ]
        detail = "; ".join(f"{fault['path']}: {fault['message']}" for fault in faults)
        return respond(Problem(422, "bad_input", detail, faults=faults))

    @app.exception_handler(HTTPException)
    async def plain(_request: Request, error: HTTPException) -> Response:
        code = _CODES.get(error.status_code, "error")
        return respond(Problem(error.status_code, code, str(error.detail)), error.headers)

    @app.exception_handler(asyncpg.PostgresConnectionError)
    @app.exception_handler(asyncpg.CannotConnectNowError)
    @app.exception_handler(asyncpg.InterfaceError)
    @app.exception_handler(asyncpg.InternalClientError)
    @app.exception_handler(ConnectionError)
    @app.exception_handler(TimeoutError)
    async def away(_request: Request, error: Exception) -> Response:
        _log.warning("engine_unreachable", error=type(error).__name__)
        problem = Problem(503, "unavailable", "a dependency does not answer; try again")
        return respond(problem, {"Retry-After": "1"})

    @app.exception_handler(asyncpg.CharacterNotInRepertoireError)
    @app.exception_handler(asyncpg.UntranslatableCharacterError)
    async def unstorable(_request: Request, _error: Exception) -> Response:
        return respond(UNSTORABLE)

    @app.exception_handler(Exception)
    async def fault(request: Request, error: Exception) -> Response:
        _log.error("unhandled", path=request.url.path, exc_info=error)
        return respond(Problem(500, "fault", "an internal fault; it was logged"))


def install_probes(app: FastAPI, ready: Readiness, refresh: Refresh = no_gauges) -> None:
    """Add `/healthz` (the process runs), `/readyz` (it can do its work) and `/metrics`."""

    @app.get("/healthz", tags=["probes"], summary="The process runs")
    async def healthz() -> dict[str, str]:
        return dict(RUNNING)

    @app.get("/readyz", tags=["probes"], summary="The process can do its work")
    async def readyz() -> Response:
        status, body, media_type = await readiness(ready)
        return Response(body, status, media_type=media_type)

    @app.get("/metrics", tags=["probes"], summary="Prometheus metrics", response_class=PlainTextResponse)
    async def metrics() -> Response:
        await refresh()
        body, media_type = metrics_page()
        return Response(body, media_type=media_type)
