"""The application of the execution plane's API."""

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime

import httpx
from fastapi import Depends, FastAPI
from fastapi.middleware import Middleware
from starlette.routing import Route

from sereno.execution_plane.agent_tools.door import PATH as AGENTS_PATH
from sereno.execution_plane.agent_tools.door import AgentDoor
from sereno.execution_plane.agent_tools.planes import Planes
from sereno.execution_plane.api import manifest_route, preview_route, webhook_route
from sereno.execution_plane.api.body_limit import BodyLimit
from sereno.execution_plane.audit import PLANE
from sereno.execution_plane.audit import http as audit_http
from sereno.execution_plane.audit.http import Signed
from sereno.execution_plane.catalog.catalog import Catalog
from sereno.execution_plane.deliveries import http as deliveries_http
from sereno.execution_plane.deliveries.redelivery import Redelivery
from sereno.execution_plane.explain import http as explain_http
from sereno.execution_plane.gateway.webhook import WebhookGateway
from sereno.execution_plane.history import http as history_http
from sereno.execution_plane.large_data import http as data_http
from sereno.execution_plane.listeners.calendar import http as calendar_http
from sereno.execution_plane.listeners.mcp import http as connector_http
from sereno.execution_plane.quality import http as quality_http
from sereno.execution_plane.stops import http as stops_http
from sereno.execution_plane.usage import http as usage_http
from sereno.mailbox.audit.intents import intents
from sereno.mailbox.bearer import LeaseBearers
from sereno.mailbox.engine import problem_details, problems
from sereno.mailbox.engine.probes import Readiness, Refresh, no_gauges
from sereno.mailbox.http.authentication import Authenticate, Callers
from sereno.mailbox.http.router import KnowsAgent
from sereno.mailbox.http.router import router as mailbox_router
from sereno.mailbox.principal import Principal
from sereno.mailbox.verbs import Mailbox
from sereno.subscriptions.lifecycle import State

_CONTROL_SECONDS, _CLAIM_SECONDS = 10.0, 90.0
TITLE = "Sereno execution plane"
VERSION = "v1"
_PROBLEMS = problem_details.answers(
    {
        401: "No valid token",
        403: "The token does not allow it",
        404: "It does not exist, or is not declared",
        413: "The request is too large",
        422: "The request is wrong; `faults` names every field",
        503: "A dependency does not answer",
    }
)


@dataclass(frozen=True, slots=True)
class Parts:
    """What the application is put together from; they may connect later."""

    mailbox: Mailbox
    catalog: Catalog
    webhooks: WebhookGateway
    bearers: LeaseBearers
    ready: Readiness
    redelivery: Redelivery
    signed: Signed = field(default_factory=Signed)
    control_url: str = ""
    """Where requests of agents to the catalog are passed on to."""
    refresh: Refresh = no_gauges


def create_app(parts: Parts) -> FastAPI:
    """The API over these parts."""
    app = FastAPI(
        title=TITLE,
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        # Senders of webhooks follow no redirect (CloudEvents HTTP webhooks 1.0.2, 2.2).
        redirect_slashes=False,
        # The framework's own spans would name the path of a webhook, which holds the endpoint's token.
        telemetry={"tracing": False, "metrics": False, "logs": False},
        middleware=[Middleware(BodyLimit)],
    )
    problems.install(app)
    problems.install_probes(app, parts.ready, parts.refresh)
    callers = Callers(_authenticate_by(parts.catalog), parts.bearers)
    app.include_router(webhook_route.router(parts.webhooks))
    intent = intents(parts.mailbox.pool, PLANE)
    mailbox = mailbox_router(
        parts.mailbox,
        _authenticate_by(parts.catalog),
        bearers=parts.bearers,
        knows_agent=_knows_agent_of(parts.catalog),
        intent=intent,
    )
    explain = explain_http.router(parts.mailbox.pool, parts.catalog, callers.member)
    deliveries = deliveries_http.router(
        parts.mailbox.pool, parts.catalog, parts.redelivery, callers.member, intent
    )
    history = history_http.router(parts.mailbox.pool, parts.catalog, callers.member)
    quality = quality_http.router(parts.mailbox.pool, parts.catalog, callers.member)
    usage = usage_http.router(parts.mailbox.pool, parts.catalog, callers.member)
    data = data_http.router(parts.mailbox.pool, parts.catalog, callers.holder)
    previews = preview_route.router(callers.member)
    calendars = calendar_http.router(parts.mailbox.pool, parts.catalog, callers.member)
    connectors = connector_http.router(parts.mailbox.pool, parts.catalog, callers.member)
    manifests = manifest_route.router(parts.catalog, callers.member)
    audit = audit_http.router(parts.mailbox.pool, parts.signed, callers.member)
    stops = stops_http.router(parts.mailbox.pool, callers.member, intent)
    for router in (
        mailbox,
        explain,
        deliveries,
        history,
        quality,
        usage,
        data,
        previews,
        calendars,
        connectors,
        manifests,
        audit,
        stops,
    ):
        app.include_router(router, responses=_PROBLEMS)

    # For the process to run: what an agent asks over MCP goes through the routes above, in its own name.
    app.state.agents = AgentDoor(parts.catalog, lambda: _planes(app, parts.control_url))
    app.router.routes.append(Route(AGENTS_PATH, app.state.agents))

    @app.get("/openapi.json", include_in_schema=False, dependencies=[Depends(callers.member)])
    async def openapi() -> dict[str, object]:
        return app.openapi()

    return app


def _planes(app: FastAPI, control_url: str) -> Planes:
    """Both planes for the tools of agents; this one without a network between."""
    return Planes(
        control=httpx.AsyncClient(base_url=control_url, timeout=_CONTROL_SECONDS, trust_env=False),
        execution=httpx.AsyncClient(
            base_url="http://execution", transport=httpx.ASGITransport(app), timeout=_CLAIM_SECONDS
        ),
    )


def _authenticate_by(catalog: Catalog) -> Authenticate:
    async def authenticate(bearer: str) -> Principal | None:
        return catalog.principal(hashlib.sha256(bearer.encode()).hexdigest(), datetime.now(UTC))

    return authenticate


def _knows_agent_of(catalog: Catalog) -> KnowsAgent:
    def knows_agent(tenant: str, agent: str) -> bool:
        return any(known.name == agent and known.state != State.DELETED for known in catalog.agents(tenant))

    return knows_agent
