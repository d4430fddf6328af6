"""A semantic condition from end to end: a webhook that a model judges, and the wake-up that its verdict leads to."""

import json
from pathlib import Path
from typing import Any

import pytest

from sereno.mailbox.cli.exits import Exit
from tests.e2e.running import (
    DOCUMENTS,
    Running,
    endpoint_url,
    github_headers,
    pull_request,
    running,
    until,
)
from tests.openai_server import Reply, serving

KEY = "canary-of-the-evaluator"
CONDITION = DOCUMENTS + "  condition: {criterion: Does it touch prices?, min_confidence: 0.6}\n"


def judge(request: dict[str, Any]) -> Reply:
    """It fires for even numbers."""
    items = request["messages"][1]["content"].splitlines()[1:-1]
    found = []
    for line in items:
        _, item, data = line.split(" ", 2)
        even = json.loads(data)["data"]["number"] % 2 == 0
        evidence = [{"item": item, "quote": "rounding of prices"}] if even else []
        found.append({"item": item, "fires": even, "confidence": 0.8, "evidence": evidence})
    return Reply(json.dumps(found[0] if len(found) == 1 else {"verdicts": found}))


def try_before(sereno: Running, folder: Path) -> None:
    """Judge a given event, and an edit that is not applied; neither wakes anybody."""
    even, odd = (
        {
            "specversion": "1.0",
            "id": str(n),
            "source": "/x",
            "type": "com.github.pull_request.opened",
            "data": json.loads(pull_request(n)),
        }
        for n in (10, 11)
    )
    event, edit = folder / "event.json", folder / "edit.yaml"
    event.write_text(json.dumps([even, odd]), encoding="utf-8")
    told = json.loads(sereno.command("sub", "test", "review-pull-requests", "--event", str(event), "--json"))
    assert [(one["event"], one["meets"]) for one in told["items"]] == [("10", True), ("11", False)]
    edit.write_text(CONDITION.replace("0.6", "0.9"), encoding="utf-8")
    shown = sereno.command("sub", "test", "-f", str(edit), "--event", str(event))
    assert "judged, not verified" in shown
    sereno.command("sub", "test", "review-pull-requests", "--evnt", str(event), code=Exit.BAD_INPUT)
    sereno.command("sub", "test", "nothing", code=Exit.BAD_INPUT)
    assert sereno.ready("reviewer") == 0


@pytest.mark.timeout(300)
@pytest.mark.req(7, 18)
def test_only_what_a_model_finds_to_fit_wakes(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("judged")
    with serving(judge) as model:
        evaluators = [
            {"name": "own", "model": "tiny", "url": model.url, "egress": "local", "key": "env:JUDGE"}
        ]
        with running(folder / "data", SERENO_EVALUATORS=json.dumps(evaluators), JUDGE=KEY) as sereno:
            url = endpoint_url(sereno.apply(CONDITION))
            try_before(sereno, folder)
            for number in range(1, 5):
                body = pull_request(number)
                headers = github_headers(body, str(number))
                assert sereno.http.post(url, content=body, headers=headers).status_code == 202
            until(lambda: sereno.ready("reviewer") == 2)
            sereno.command("work", "reviewer", "--max", "1", "--exec", f"tee {folder}/taken")
            taken = (folder / "taken").read_text()
            assert "rounding of prices" in taken
            used = sereno.execution("GET", "/v1/usage?by=model")["items"]
            assert [(one["name"], one["evaluations"]) for one in used if one["evaluations"]] == [("tiny", 4)]
            assert [(one["name"], one["tests"]) for one in used if one["tests"]] == [("tiny", 2)]
            logs = "".join(path.read_text() for path in (folder / "data").rglob("*.log"))
    assert set(model.authorizations) == {f"Bearer {KEY}"}
    assert KEY not in logs + taken


def test_without_an_evaluator_a_condition_is_refused(
    installation: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("condition") / "condition.yaml"
    file.write_text(CONDITION, encoding="utf-8")
    installation.command("apply", "-f", str(file), code=Exit.BAD_INPUT)
