"""The route of webhooks, and what the API's description says of it."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from sereno.execution_plane.gateway.webhook import WebhookGateway
from sereno.mailbox.engine import problem_details


class Accepted(BaseModel):
    """The events are on disk; whether they wake anybody is decided afterwards and stands in `explain`."""

    id: str | None = Field(description="the receipt (`rcp_…`) of the first event; none for an empty batch")
    ids: list[str] | None = Field(None, description="the receipts of all events, for a batch")


_RESPONSES: dict[int | str, dict[str, Any]] = {
    202: {"model": Accepted, "description": "Stored"},
    **problem_details.answers(
        {
            400: "Signed, but not valid; `detail` says what is wrong",
            401: "Unknown endpoint, or a missing or wrong signature: the same answer for all",
            410: "Signed, but the endpoint was deleted; send nothing more",
            413: "Larger than the endpoint allows, or than 10 MB",
            415: "Signed, but of a type that the endpoint does not allow",
            429: "Signed, but more than the endpoint allows; send it again after `Retry-After` seconds",
            503: "Not stored; send it again after `Retry-After` seconds",
        }
    ),
}
_ANY_JSON: dict[str, Any] = {"schema": {}}
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": _ANY_JSON,
            "application/cloudevents+json": _ANY_JSON,
            "application/cloudevents-batch+json": _ANY_JSON,
        },
    }
}

Token = Annotated[str, Path(description="the secret part of the endpoint's URL, as `apply` printed it")]


def router(gateway: WebhookGateway) -> APIRouter:
    """`/in/{endpoint_token}` over this gateway."""
    routes = APIRouter(tags=["webhooks"])

    @routes.post(
        "/in/{endpoint_token}",
        status_code=202,
        responses=_RESPONSES,
        openapi_extra=_BODY,
        response_model=None,
        summary="Receive a signed webhook",
    )
    async def receive(endpoint_token: Token, request: Request) -> Response:
        return await gateway.post(endpoint_token, request)

    @routes.options(
        "/in/{endpoint_token}",
        response_class=Response,
        summary="The CloudEvents handshake of webhooks",
    )
    async def handshake(endpoint_token: Token, request: Request) -> Response:
        del endpoint_token  # every one is answered alike
        return gateway.handshake(request)

    return routes
