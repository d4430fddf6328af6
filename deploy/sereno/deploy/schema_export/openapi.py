"""The OpenAPI documents of both planes, asked of their applications; no server is started, nothing is connected."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from sqlalchemy.ext.asyncio import create_async_engine

from sereno.control_plane.api.app import create_app as create_control_app

_NOWHERE = "postgresql+asyncpg://nowhere.invalid/none"
_EXECUTION_URL = "http://127.0.0.1:7701"


async def _ready() -> Mapping[str, str | None]:
    return {}


def control_openapi(release: str) -> dict[str, Any]:
    """The API of the control plane."""
    app = create_control_app(create_async_engine(_NOWHERE), execution_url=_EXECUTION_URL, ready=_ready)
    return _document(app, release)


def _document(app: FastAPI, release: str) -> dict[str, Any]:
    document = app.openapi()
    return document | {"info": document["info"] | {"version": release}}
