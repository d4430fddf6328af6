"""A semantic condition from end to end: a webhook that a model judges, and the wake-up that its verdict leads to."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from sereno.mailbox.cli.exits import Exit
from tests.e2e.running import (
    DOCUMENTS,
    SECRET,
    Running,
    endpoint_url,
    github_headers,
    pull_request,
    running,
    until,
)
from tests.openai_server import Reply, serving

KEY = "canary-of-the-evaluator"
SEALED = "whsec_" + base64.b64encode(b"canary-of-an-endpoint-32-bytes!!").decode()
CONDITION = DOCUMENTS + "  condition: {criterion: Does it touch prices?, min_confidence: 0.6}\n"


def judge(request: dict[str, Any]) -> Reply:
    """It fires for even numbers."""
    items = request["messages"][1]["content"].splitlines()[1:-1]
    found = []
    for line in items:
        _, item, data = line.split(" ", 2)
        seen = json.loads(data)["data"]
        even = seen.get("number", 1) % 2 == 0
        evidence = [{"item": item, "quote": "rounding of prices"}] if even else []
        # It can be talked into it, as models can.
        even |= "Ignore all previous instructions" in seen.get("text", "")
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


def label_and_edit(sereno: Running, folder: Path) -> None:
    """What people labelled stands before a criterion that judges it worse."""
    events = [(str(n), "right") for n in (1, 2, 3, 4)]
    for event, word in events:
        sereno.command("sub", "label", event, word)
    [now] = json.loads(sereno.command("sub", "quality", "review-pull-requests", "--json"))["criteria"]
    assert (now["met"], now["not_met"], now["precision"], now["recall"]) == (2, 2, 1.0, 1.0)
    edit = folder / "edit.yaml"
    edit.write_text(CONDITION.replace("0.6", "0.95"), encoding="utf-8")
    sereno.command("apply", "-f", str(edit), code=Exit.REFUSED)
    shown = sereno.command("sub", "quality", "review-pull-requests", "--replay")
    assert "4 labelled: 4 were right, 4 are now" in shown
    sereno.command("apply", "-f", str(edit), "--without-replay")


def drilled(sereno: Running) -> None:
    """The model that can be talked into it is shown to be so, and the filter needs none."""
    found = json.loads(sereno.command("drill", "injection", "--json", code=1))
    assert (found["turned_up"], found["turned_down"], found["models"]) == (["en-000"], [], ["tiny"])
    assert found["attacks"] >= 30
    assert "recall" in sereno.command("drill", "injection", "--filter")
    assert sereno.ready("reviewer") == 1


def nowhere(sereno: Running, requests: list[dict[str, Any]], taken: str) -> None:
    """No secret stands in a prompt, an envelope, a page, a log or the database."""
    pages = [
        sereno.http.get(base + path, headers=sereno.bearer).text
        for base, paths in (
            (sereno.control_url, ("subscriptions", "endpoints", "tokens", "audit/records", "whoami")),
            (sereno.execution_url, ("history", "deliveries", "usage", "notices", "mailboxes", "manifest")),
        )
        for path in (f"/v1/{one}" for one in paths)
    ]
    logs = [path.read_text(errors="replace") for path in (sereno.data / "logs").rglob("*") if path.is_file()]
    dump = asyncio.run(dumped(json.loads((sereno.data / "sereno.json").read_text())["postgres"]))
    assert "review-pull-requests" in dump
    places = {
        "prompts": json.dumps(requests),
        "envelopes": taken,
        "pages": "".join(pages),
        "logs": "".join(logs),
    }
    for secret in (KEY, SECRET, SEALED, SEALED.removeprefix("whsec_"), sereno.token):
        for place, text in {**places, "database": dump}.items():
            assert secret not in text, place


async def dumped(dsn: str) -> str:
    """Every row of every table of ours, as text."""
    connection = await asyncpg.connect(dsn)
    try:
        tables = await connection.fetch(
            "select format('%I.%I', schemaname, tablename) as name from pg_tables"
            " where schemaname in ('control', 'execution', 'mailbox')"
        )
        rows = [await connection.fetch(f"select t::text as row from {one['name']} t") for one in tables]
    finally:
        await connection.close()
    return "\n".join(row["row"] for found in rows for row in found)


@pytest.mark.timeout(300)
@pytest.mark.req(7, 18, 97, 193)
def test_only_what_a_model_finds_to_fit_wakes(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("judged")
    with serving(judge) as model:
        evaluators = [
            {"name": "own", "model": "tiny", "url": model.url, "egress": "local", "key": "env:JUDGE"}
        ]
        sealed = folder / "sealed"
        sealed.write_text(SEALED, encoding="ascii")
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
            sereno.command(
                "webhook", "endpoint", "add", "sealed", "--scheme", "standard", "--seal", str(sealed)
            )
            label_and_edit(sereno, folder)
            drilled(sereno)
            nowhere(sereno, model.requests, taken)
            logs = "".join(path.read_text() for path in (folder / "data").rglob("*.log"))
    assert set(model.authorizations) == {f"Bearer {KEY}"}
    assert KEY not in logs + taken


def test_without_an_evaluator_a_condition_is_refused(
    installation: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("condition") / "condition.yaml"
    file.write_text(CONDITION, encoding="utf-8")
    installation.command("apply", "-f", str(file), code=Exit.BAD_INPUT)
