"""The shape of a problem (RFC 9457) as the APIs describe it, and which problems any route may answer."""

from collections.abc import Mapping
from typing import Any, Literal

from fastapi import FastAPI
from pydantic import BaseModel

MEDIA_TYPE = "application/problem+json"
_REFERENCE = {"$ref": "#/components/schemas/ProblemDetails"}
_FOREIGN = {"$ref": "#/components/schemas/HTTPValidationError"}
_PLAIN = "application/json"


class Fault(BaseModel):
    """One thing wrong with the request; `line` is one of a YAML text."""

    path: str
    message: str
    line: int | None = None


class ProblemDetails(BaseModel):
    """Why a request was refused; `code` is stable, `detail` is a sentence."""

    type: Literal["about:blank"]
    title: str
    status: int
    code: str
    detail: str
    faults: list[Fault] | None = None


def answers(descriptions: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a router whose routes may refuse with these statuses."""
    return {status: {"model": ProblemDetails, "description": text} for status, text in descriptions.items()}


def describe(app: FastAPI) -> None:
    """Make the application's OpenAPI document give problems their own media type."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        return _described(plain())

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend the document


def _described(document: dict[str, Any]) -> dict[str, Any]:
    for operations in document["paths"].values():
        for operation in operations.values():
            answers_of = operation["responses"]
            # FastAPI adds its own shape where a route declares no 422; no application of ours answers it.
            if _schema(answers_of.get("422", {})) == _FOREIGN:
                del answers_of["422"]
            for answer in answers_of.values():
                if _schema(answer) == _REFERENCE:
                    answer["content"][MEDIA_TYPE] = answer["content"].pop(_PLAIN)
    for name in ("HTTPValidationError", "ValidationError"):
        document.get("components", {}).get("schemas", {}).pop(name, None)
    return document


def _schema(answer: Mapping[str, Any]) -> object:
    return answer.get("content", {}).get(_PLAIN, {}).get("schema")
