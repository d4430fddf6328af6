"""The application of the control plane's API."""

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from fastapi import Depends, FastAPI, Request
from fastapi.responses import Response
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.api import (
    approvals,
    audit,
    changing,
    connectors,
    documents,
    endpoints,
    grants,
    identity,
    reading,
    stops,
    testing,
)
from sereno.control_plane.api.authentication import TokenUses, authenticate
from sereno.control_plane.api.authorising import KnownFacts
from sereno.control_plane.api.body_limit import BodyLimit
from sereno.control_plane.api.rendering import Renderer
from sereno.control_plane.recording import PLANE
from sereno.control_plane.stop_orders import Orders
from sereno.mailbox.audit.keys import Trusted
from sereno.mailbox.audit.standing import AuditStanding
from sereno.mailbox.engine import problem_details, problems
from sereno.mailbox.engine.asking import Ask
from sereno.mailbox.engine.probes import Readiness, Refresh, no_gauges
from sereno.mailbox.engine.problems import Problem
from sereno.mailbox.engine.telemetry import logger

TITLE = "Sereno control plane"
VERSION = "v1"
# Connection lost, resources short, operator's doing, lock or statement time-out: try again.
_PASSING = ("08", "53", "55", "57")
# A NUL character, in text and in JSON.
_UNSTORABLE = ("22021", "22P05")
_log = logger("control.api")
_PROBLEMS = problem_details.answers(
    {
        401: "No valid token",
        403: "Policy does not allow it; `rule` and `policy_version` say which",
        404: "It does not exist",
        409: "Refused by the state or version of the catalog",
        413: "The request is too large",
        422: "The request is wrong; `faults` names every field",
        429: "Too often; try again later",
        503: "A dependency does not answer",
    }
)


def create_app(
    engine: AsyncEngine,
    *,
    execution_url: str,
    ready: Readiness,
    sealing_key: X25519PublicKey | None = None,
    checkpoints: Path | None = None,
    audit_keys: Trusted | None = None,
    judged: bool = False,
    ask: Ask | None = None,
    orders: Orders | None = None,
    refresh: Refresh = no_gauges,
    audit_standing: AuditStanding | None = None,
) -> FastAPI:
    """The API over an engine that may connect later; `execution_url` is where senders reach endpoints.

    Without `sealing_key`, the execution plane's, secrets can only be references. `checkpoints` is the file of signed ends
    of the audit chains, and `audit_keys` the keys by which they count. `judged` says that an evaluator of conditions is
    configured, and `ask` asks the execution plane.
    """
    app = FastAPI(title=TITLE, version=VERSION, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.engine = engine
    app.state.sealing_key = sealing_key
    app.state.facts = KnownFacts(engine)
    app.state.checkpoints, app.state.audit_keys = checkpoints, audit_keys or {}
    app.state.judged, app.state.ask = judged, ask
    app.state.orders = orders or Orders()
    app.state.audit_standing = audit_standing or AuditStanding(PLANE)
    app.state.token_uses = TokenUses()
    app.state.renderer = Renderer(execution_url)
    app.add_middleware(BodyLimit)
    problems.install(app)
    _install_database_problems(app)
    problems.install_probes(app, ready, refresh)
    for router in (
        changing.router,
        endpoints.router,
        connectors.router,
        reading.router,
        documents.router,
        identity.router,
        grants.router,
        approvals.router,
        audit.router,
        testing.router,
        stops.router,
    ):
        app.include_router(router, responses=_PROBLEMS)

    @app.get("/openapi.json", include_in_schema=False, dependencies=[Depends(authenticate)])
    async def openapi() -> dict[str, object]:
        return app.openapi()

    return app


def _install_database_problems(app: FastAPI) -> None:
    @app.exception_handler(SQLAlchemyError)
    async def failed(request: Request, error: Exception) -> Response:
        if _passing(error):
            _log.warning("database_unreachable", error=type(error).__name__)
            problem = Problem(503, "unavailable", "the database does not answer; try again")
            return problems.respond(problem, {"Retry-After": "1"})
        if _state(error) in _UNSTORABLE:
            return problems.respond(problems.UNSTORABLE)
        # The driver's message quotes parameters, so only its kind is told.
        _log.error("database_fault", path=request.url.path, error=type(error).__name__)
        return problems.respond(Problem(500, "fault", "an internal fault; it was logged"))


def _passing(error: Exception) -> bool:
    if isinstance(error, PoolTimeoutError):
        return True
    if not isinstance(error, DBAPIError):
        return False
    return error.connection_invalidated or _state(error).startswith(_PASSING)


def _state(error: Exception) -> str:
    return str(getattr(getattr(error, "orig", None), "sqlstate", None) or "")
