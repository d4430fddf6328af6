"""The previews over HTTP: the same questions and answers as on the command line."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends

from sereno.execution_plane.preview import calendar_preview, schedule_preview
from sereno.mailbox.engine.problems import Problem
from sereno.mailbox.principal import Principal
from sereno.subscriptions.recurrence.refusal import Refused

Question = Annotated[dict[str, Any], Body(description="As one line of the command of the same name.")]


def router(authenticate: Callable[..., Awaitable[Principal]]) -> APIRouter:
    """`POST /v1/schedule/preview` and `POST /v1/calendar/preview`, for whoever has a token."""
    routes = APIRouter(prefix="/v1", tags=["previews"], dependencies=[Depends(authenticate)])

    @routes.post("/schedule/preview", summary="When a schedule fires")
    async def schedule(question: Question) -> dict[str, Any]:
        return await _answered(schedule_preview.answer, question)

    @routes.post("/calendar/preview", summary="When something is due around the entries of a calendar")
    async def calendar(question: Question) -> dict[str, Any]:
        return await _answered(calendar_preview.answer, question)

    return routes


async def _answered(answer: Callable[[Any], dict[str, Any]], question: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return await asyncio.to_thread(answer, question)
    except Refused as refused:
        raise Problem(422, refused.code, str(refused)) from refused
