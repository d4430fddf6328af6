"""The dashboards and alerts: as their code says, and true to the instruments that are declared."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from sereno.deploy.dashboards.boards import BOARDS
from sereno.deploy.dashboards.grafana import text_of
from sereno.mailbox.engine.instruments import LABELS, METRICS

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
FOLDER = DEPLOY / "grafana/dashboards"
DASHBOARDS = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
RULES = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())["groups"][0]["rules"]
UNITS = {"short", "s", "percentunit", "reqps", "cps", "bytes"}
# What Prometheus and the process itself say.
FOREIGN = {
    "up": ("job", "instance"),
    "process_resident_memory_bytes": ("job", "instance"),
    "process_cpu_seconds_total": ("job", "instance"),
}
SERIES = FOREIGN | {
    metric.exposed + suffix: (*metric.labels, "job", "instance", *(("le",) if suffix == "_bucket" else ()))
    for metric in METRICS.values()
    for suffix in (("_bucket", "_sum", "_count") if metric.kind == "histogram" else ("",))
}
IDENTITIES = {
    "subscription",
    "agent",
    "message",
    "receipt",
    "endpoint",
    "token",
    "schedule",
    "principal",
    "run",
}


def panels() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, dashboard in DASHBOARDS.items():
        for panel in dashboard["panels"]:
            yield name, panel


def expressions() -> Iterator[tuple[str, str]]:
    """Every query of a panel and of a rule, its variables filled in."""
    for name, panel in panels():
        for target in panel["targets"]:
            yield f"{name}: {panel['title']}", filled(target["expr"])
    for rule in RULES:
        yield f"alert {rule['alert']}", rule["expr"]


def filled(expression: str) -> str:
    """As Grafana fills it in."""
    return re.sub(r"\$\{?(tenant|family)\}?", ".*", expression).replace("$__rate_interval", "1m")


def parts(expression: Any) -> Iterator[Any]:
    """Every part of a parsed expression."""
    yield expression
    for name in ("lhs", "rhs", "expr", "param", "vector_selector"):
        inner = getattr(expression, name, None)
        if inner is not None and not isinstance(inner, str):
            yield from parts(inner)
    for inner in getattr(expression, "args", ()):
        yield from parts(inner)


def test_the_files_are_what_the_boards_say() -> None:
    assert {path.name: path.read_text() for path in FOLDER.glob("*.json")} == {
        f"{board.name}.json": text_of(board) for board in BOARDS
    }


def test_the_check_tells_what_differs(tmp_path: Path) -> None:
    for path in FOLDER.glob("*.json"):
        (tmp_path / path.name).write_text(
            path.read_text().replace("sereno_decisions_total", "sereno_decision_total")
        )
    (tmp_path / "strange.json").write_text("{}")
    check = subprocess.run(
        [sys.executable, "-m", "sereno.deploy.dashboards", tmp_path, "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert check.returncode == 1
    assert "wakes.json differs from its board" in check.stderr
    assert "strange.json belongs to no board" in check.stderr
    assert "evaluator.json" not in check.stderr


def test_there_are_eight_boards_with_panels_enough() -> None:
    assert [board.title for board in BOARDS] == [
        "Wakes",
        "Guards",
        "Mailbox",
        "Sources and schedules",
        "Evaluator",
        "Governance",
        "Integrity",
        "Dependencies",
    ]
    assert len(list(panels())) >= 45


@pytest.mark.req(346)
def test_a_panel_says_what_it_shows_in_which_unit_and_leads_on() -> None:
    for name, panel in panels():
        where = f"{name}: {panel['title']}"
        assert panel["title"], where
        assert panel["description"].endswith("."), where
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, where
        assert panel["datasource"]["uid"] == "${datasource}", where
        references = [target["refId"] for target in panel["targets"]]
        assert references, where
        assert len(set(references)) == len(references), where
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"]), where
        urls = " ".join(link["url"] for link in panel["links"])
        assert "/v1/explain/" in urls, where
        assert "/explore?" in urls, where
    for name in DASHBOARDS:
        titles = [panel["title"] for board, panel in panels() if board == name]
        assert len(set(titles)) == len(titles)


def test_a_dashboard_is_one_that_grafana_11_imports() -> None:
    for name, dashboard in DASHBOARDS.items():
        assert dashboard["uid"] == f"sereno-{name}"
        assert dashboard.get("id") is None
        assert dashboard["schemaVersion"] >= 39
        variables = {one["name"]: one for one in dashboard["templating"]["list"]}
        assert {"datasource", "traces", "tenant", "family"} <= variables.keys()
        assert variables["datasource"]["query"] == "prometheus"
        ids = [panel["id"] for panel in dashboard["panels"]]
        assert len(set(ids)) == len(ids)


def test_panels_do_not_overlap_and_stay_on_the_grid() -> None:
    for dashboard in DASHBOARDS.values():
        taken: set[tuple[int, int]] = set()
        for panel in dashboard["panels"]:
            place = {axis: panel["gridPos"].get(axis, 0) for axis in "xywh"}
            cells = {
                (x, y)
                for x in range(place["x"], place["x"] + place["w"])
                for y in range(place["y"], place["y"] + place["h"])
            }
            assert not taken & cells, panel["title"]
            assert all(x < 24 for x, _ in cells), panel["title"]
            taken |= cells


def faults(where: str, expression: str) -> Iterator[str]:
    """What is wrong with a query: it does not parse, or names what no process shows."""
    try:
        parsed = promql_parser.parse(expression)
    except ValueError as fault:
        yield f"{where}: {fault}"
        return
    every = list(parts(parsed))
    selectors = [part for part in every if isinstance(part, promql_parser.VectorSelector)]
    known: set[str] = set()
    for selector in selectors:
        if selector.name not in SERIES:
            yield f"{where}: no process shows {selector.name}"
        known |= set(SERIES.get(selector.name or "", ()))
        yield from (
            f"{where}: {selector.name} has no label {matcher.name}"
            for matcher in selector.matchers.matchers
            if matcher.name not in SERIES.get(selector.name or "", ())
        )
    for part in every:
        modifier = getattr(part, "modifier", None)
        for label in getattr(modifier, "labels", None) or ():
            if label not in known:
                yield f"{where}: none of its series has a label {label}"


@pytest.mark.req(347)
def test_every_query_parses_and_names_what_processes_show() -> None:
    assert [fault for where, expression in expressions() for fault in faults(where, expression)] == []


def test_a_misspelt_metric_and_a_wrong_label_are_faults() -> None:
    assert list(faults("planted", "sum(rate(sereno_decision_total[1m]))"))
    assert list(faults("planted", 'sum(rate(sereno_decisions_total{subscription="x"}[1m]))'))
    assert list(faults("planted", "sum by (agent) (rate(sereno_decisions_total[1m]))"))
    assert list(faults("planted", "sum by (tenant) (rate(sereno_decisions_total[1m]"))
    assert not list(faults("planted", "sum by (tenant) (rate(sereno_decisions_total[1m]))"))


def test_every_metric_is_on_a_board_and_no_label_is_an_identity() -> None:
    shown = " ".join(expression for _, expression in expressions())
    assert [metric.exposed for metric in METRICS.values() if metric.exposed not in shown] == []
    assert not IDENTITIES & LABELS.keys()


def test_an_alert_says_what_it_means_and_what_to_do() -> None:
    names = [rule["alert"] for rule in RULES]
    assert len(set(names)) == len(names)
    for rule in RULES:
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert set(rule["annotations"]) == {"summary", "what_to_do"}
        assert rule["annotations"]["what_to_do"].endswith((".", "?"))


def test_the_alerts_that_matter_are_tried() -> None:
    tried = "".join(path.read_text() for path in (DEPLOY / "prometheus").glob("*.test.yml"))
    for name in (
        "SerenoStaleVerbs",
        "SerenoOldestReadyMessage",
        "SerenoFollowerLag",
        "SerenoUnaccountedInstants",
        "SerenoChainUnverified",
        "SerenoEverythingApproved",
        "SerenoManifestAge",
        "SerenoSourceStalled",
    ):
        assert f"alertname: {name}" in tried
