"""The JSON Schemas of the mailbox's HTTP verbs: what a worker sends and is answered."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from sereno.mailbox.http import shapes

_REQUESTS: Mapping[str, type[BaseModel]] = {
    "claim-request": shapes.ClaimBody,
    "renew-request": shapes.RenewBody,
    "ack-request": shapes.AckBody,
    "release-request": shapes.ReleaseBody,
    "check-request": shapes.CheckBody,
}
_ANSWERS: Mapping[str, type[BaseModel]] = {
    "claim-answer": shapes.ClaimAnswer,
    "lease-answer": shapes.Answers,
}


def mailbox_schemas() -> dict[str, dict[str, Any]]:
    """The schema of each request and answer, by name."""
    requests = {name: model.model_json_schema() for name, model in _REQUESTS.items()}
    answers = {name: model.model_json_schema(mode="serialization") for name, model in _ANSWERS.items()}
    return requests | answers
