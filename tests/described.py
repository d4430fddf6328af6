"""Requests that an API's description allows, each answered as it says: three of each operation, or as many as one asks for."""

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any

import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.core.result import Ok

EXAMPLES = int(os.environ.get("SERENO_API_EXAMPLES", "3"))
AWAY = "the data path does not answer"
CHECKS = [
    schemathesis.checks.not_a_server_error,
    schemathesis.checks.status_code_conformance,
    schemathesis.checks.content_type_conformance,
    schemathesis.checks.response_schema_conformance,
]


def ask_as_described(url: str, document: dict[str, Any], headers: Mapping[str, str]) -> Counter[int]:
    """Ask every operation of the document; how often each status answered."""
    schema, statuses = schemathesis.openapi.from_dict(document), Counter[int]()
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found
        operation = found.ok()

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def ask(case: schemathesis.Case[Any]) -> None:
            if isinstance(case.body, dict):
                case.body.pop("wait_seconds", None)
            response = case.call(base_url=url, headers=dict(headers), timeout=60)
            # That what it stands on is away is an answer, not a fault: here nothing answers for the other plane.
            away = response.status_code == 503 and AWAY in response.json()["detail"]
            checks = [
                check for check in CHECKS if not (away and check is schemathesis.checks.not_a_server_error)
            ]
            case.validate_response(response, checks=checks)
            statuses[response.status_code] += 1

        ask()
    return statuses
