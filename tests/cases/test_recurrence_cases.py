"""The shared recurrence cases, as iCalendar text and as fields, and the cron lines on days when the clock changes."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from sereno.execution_plane.preview.lines import answer_line
from sereno.execution_plane.preview.schedule_preview import answer

HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = json.loads((HERE / "recurrence.json").read_text(encoding="utf-8"))
CRON: list[dict[str, Any]] = json.loads((HERE / "cron_dst_table.json").read_text(encoding="utf-8"))[
    "measured"
]
AS_FIELDS = [case for case in CASES if not (case["overrides"] or case["calendar_props"] or case["vtimezone"])]
REFUSED_WITHIN = 0.05


def asked(question: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    after, before = case["window"] or (None, None)
    line = json.dumps({**question, "after": after, "before": before, "limit": 10_000}).encode()
    return answer_line(line, answer)


def check(found: dict[str, Any], case: dict[str, Any]) -> None:
    if case["kind"] == "error":
        assert set(found) == {"error"}
        assert found["error"]["code"] in {"bad_rule", "never_fires"}
        assert found["error"]["message"]
    else:
        assert [each.replace("-", "").replace(":", "") for each in found["instants"]] == case["expected"]


@pytest.mark.req(49, 51, 52, 160)
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_a_case_as_icalendar_text(case: dict[str, Any]) -> None:
    check(asked({"ics": case["ics"]}, case), case)


@pytest.mark.req(49, 51, 52, 160)
@pytest.mark.parametrize("case", AS_FIELDS, ids=lambda case: str(case["id"]))
def test_a_case_as_fields(case: dict[str, Any]) -> None:
    fields = {name: case[name] for name in ("dtstart", "tzid", "rrule", "rdate", "exdate")}
    check(asked(fields, case), case)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["kind"] == "error"], ids=lambda case: str(case["id"])
)
def test_a_refusal_is_quick(case: dict[str, Any]) -> None:
    spent = []
    for _ in range(3):
        begun = time.process_time()
        asked({"ics": case["ics"]}, case)
        spent.append(time.process_time() - begun)
    assert min(spent) < REFUSED_WITHIN


@pytest.mark.req(51, 160)
@pytest.mark.parametrize("row", CRON, ids=lambda row: str(row["id"]))
def test_cron_is_read_as_cronsim_reads_it(row: dict[str, Any]) -> None:
    expected = row["measured"]["cronsim 2.8"]
    question = {"cron": row["cron"], "tzid": row["tz"], "after": row["from_local"], "limit": len(expected)}
    found = answer_line(json.dumps(question).encode(), answer)["instants"]
    assert [each[:4] for each in found] == [str(row["year"])] * len(expected)
    assert [f"{each[5:16]}Z" for each in found] == expected
