"""The descriptions of both APIs say what the applications answer."""

from typing import Any

import pytest
from fastapi import FastAPI

from sereno import schemas
from sereno.mailbox.engine import problem_details, problems

PLANES = ["control.openapi", "execution.openapi"]
OPEN = {"/healthz", "/readyz", "/metrics", "/in/{endpoint_token}"}


def operations(name: str) -> list[tuple[str, str, dict[str, Any]]]:
    paths: dict[str, dict[str, dict[str, Any]]] = schemas.read(name)["paths"]
    return [(path, method, said) for path, methods in paths.items() for method, said in methods.items()]


@pytest.mark.parametrize("name", PLANES)
def test_each_operation_has_its_own_id_and_a_summary(name: str) -> None:
    ids = [said["operationId"] for _, _, said in operations(name)]
    assert len(ids) == len(set(ids))
    assert all(said.get("summary") for _, _, said in operations(name))


@pytest.mark.parametrize("name", PLANES)
def test_every_operation_needs_a_bearer_but_probes_and_signed_webhooks(name: str) -> None:
    for path, method, said in operations(name):
        assert bool(said.get("security")) == (path not in OPEN), (method, path)


@pytest.mark.parametrize("name", PLANES)
def test_refusals_are_problems_and_nothing_else(name: str) -> None:
    for path, _, said in operations(name):
        if path in OPEN - {"/in/{endpoint_token}"}:
            continue
        for status, answer in said["responses"].items():
            if status >= "400":
                assert list(answer["content"]) == ["application/problem+json"], (path, status)
    assert "HTTPValidationError" not in schemas.read(name)["components"]["schemas"]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("control.openapi", {("post", "/v1/apply"), ("post", "/v1/diff"), ("get", "/v1/subscriptions")}),
        (
            "execution.openapi",
            {
                ("post", "/in/{endpoint_token}"),
                ("options", "/in/{endpoint_token}"),
                ("post", "/v1/mailboxes/{agent}/claim"),
                ("post", "/v1/leases/renew"),
                ("post", "/v1/leases/ack"),
                ("post", "/v1/leases/release"),
                ("post", "/v1/leases/check"),
                ("get", "/v1/explain/{identifier}"),
                ("get", "/v1/notices"),
            },
        ),
    ],
)
def test_the_verbs_of_the_contract_are_described(name: str, wanted: set[tuple[str, str]]) -> None:
    assert wanted <= {(method, path) for path, method, _ in operations(name)}


def test_an_application_without_problems_is_described_too() -> None:
    app = FastAPI()
    problems.install(app)
    assert app.openapi()["paths"] == {}


def test_a_declared_refusal_is_described_with_its_media_type() -> None:
    app = FastAPI()
    problems.install(app)

    @app.get("/{number}", responses=problem_details.answers({404: "There is none"}))
    async def show(number: int) -> int:
        return number

    for _ in range(2):
        said = app.openapi()["paths"]["/{number}"]["get"]["responses"]
        assert said.keys() == {"200", "404"}
        assert list(said["404"]["content"]) == ["application/problem+json"]
