"""The OpenAPI documents of both planes, asked of their applications; no server is started, nothing is connected."""

import asyncio
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import asyncpg
from fastapi import FastAPI
from nats.aio.client import Client
from sqlalchemy.ext.asyncio import create_async_engine

from sereno.control_plane.api.app import create_app as create_control_app
from sereno.execution_plane.api import Parts
from sereno.execution_plane.api import create_app as create_execution_app
from sereno.execution_plane.catalog.catalog import Catalog
from sereno.execution_plane.deliveries.log import DeliveryLog
from sereno.execution_plane.deliveries.redelivery import Redelivery
from sereno.execution_plane.gateway.admission import Admission
from sereno.execution_plane.gateway.group_commit import GroupCommit, IngressPublisher
from sereno.execution_plane.gateway.secrets import Secrets
from sereno.execution_plane.gateway.webhook import WebhookGateway
from sereno.mailbox.bearer import LeaseBearers
from sereno.mailbox.verbs import Mailbox

_NOWHERE = "//nowhere.invalid/none"
_EXECUTION_URL = "http://127.0.0.1:7701"


def openapis(release: str) -> dict[str, dict[str, Any]]:
    """The API of each plane, by the name of the plane."""
    return asyncio.run(_described(release))


async def _described(release: str) -> dict[str, dict[str, Any]]:
    # Pools and clients bind to the running loop when they are made, and connect at their first use: never here.
    return {
        "control": _document(_control_app(), release),
        "execution": _document(_execution_app(), release),
    }


def _control_app() -> FastAPI:
    engine = create_async_engine(f"postgresql+asyncpg:{_NOWHERE}")
    return create_control_app(engine, execution_url=_EXECUTION_URL, ready=_ready)


def _execution_app() -> FastAPI:
    catalog = Catalog()
    admission = Admission(Secrets(), os.urandom)
    commit = GroupCommit(IngressPublisher(Client()))
    pool = asyncpg.create_pool(f"postgresql:{_NOWHERE}")
    log = DeliveryLog(pool)
    return create_execution_app(
        Parts(
            mailbox=Mailbox(pool),
            catalog=catalog,
            webhooks=WebhookGateway(catalog, admission, commit, _now, record=log.record),
            bearers=LeaseBearers(bytes(32)),
            ready=_ready,
            redelivery=Redelivery(pool, commit, log, os.urandom, _now),
        )
    )


def _now() -> datetime:
    return datetime.now(UTC)


async def _ready() -> Mapping[str, str | None]:
    return {}


def _document(app: FastAPI, release: str) -> dict[str, Any]:
    document = app.openapi()
    return document | {"info": document["info"] | {"version": release}}
