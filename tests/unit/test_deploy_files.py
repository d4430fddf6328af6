"""The files under deploy/ that other programs read: valid, and true to what the code exposes."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from sereno.deploy.embedded_nats import find_server
from sereno.mailbox.engine.telemetry import METRICS, Metric

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = DEPLOY / "compose"
BOARD = json.loads((DEPLOY / "grafana/wakes.json").read_text())
PANELS = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
# Unit ids that Grafana knows; a misspelt one is silently shown as a bare number.
UNITS = {"s", "short", "cps", "reqps", "percentunit"}


def exposed() -> Mapping[str, Metric]:
    """Every series name that /metrics shows, with its metric."""
    names: dict[str, Metric] = {}
    for metric in METRICS.values():
        suffixes = ("_bucket", "_sum", "_count") if metric.kind == "histogram" else ("",)
        names |= {metric.exposed + suffix: metric for suffix in suffixes}
    return names


def expressions() -> Iterator[tuple[str, str]]:
    for panel in PANELS:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((COMPOSE / "compose.yaml").read_text())
    return document


def mounted(service: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for volume in service.get("volumes", []):
        source, target, *_ = volume.split(":")
        yield source, target


@pytest.mark.parametrize(
    "path",
    sorted(path for part in ("compose", "grafana", "prometheus") for path in (DEPLOY / part).rglob("*.y*ml")),
    ids=lambda path: path.name,
)
def test_yaml_is_valid(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text()), dict)


def test_the_board_is_a_dashboard_that_grafana_11_imports() -> None:
    assert BOARD["title"] == "Wakes"
    assert BOARD["uid"] == "sereno-wakes"
    assert BOARD["id"] is None
    assert BOARD["schemaVersion"] >= 39
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert len(ids) == len(set(ids))
    (variable,) = BOARD["templating"]["list"]
    assert (variable["name"], variable["type"], variable["query"]) == (
        "datasource",
        "datasource",
        "prometheus",
    )


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_says_what_it_shows_and_in_which_unit(panel: dict[str, Any]) -> None:
    assert panel["title"]
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
    references = [target["refId"] for target in panel["targets"]]
    assert references
    assert len(references) == len(set(references))
    assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])


def test_panels_do_not_overlap_and_stay_on_the_grid() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells, panel["title"]
        assert all(x < 24 for x, _ in cells), panel["title"]
        taken |= cells


@pytest.mark.parametrize(("title", "expression"), list(expressions()))
def test_a_query_names_metrics_and_labels_that_the_code_exposes(title: str, expression: str) -> None:
    series = exposed()
    used = re.findall(r"sereno_\w+", expression)
    assert used
    assert [name for name in used if name not in series] == []
    labels = {
        label.strip() for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(",")
    }
    labels |= set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", expression))
    known = {label for name in used for label in series[name].labels} | {"le"}
    assert labels <= known, title


def test_every_metric_of_the_code_is_on_the_board() -> None:
    shown = " ".join(expression for _, expression in expressions())
    assert [metric.exposed for metric in METRICS.values() if metric.exposed not in shown] == []


def test_brackets_of_every_query_are_balanced() -> None:
    for title, expression in expressions():
        for opening, closing in ("()", "{}", "[]"):
            assert expression.count(opening) == expression.count(closing), title


def test_compose_services_are_complete_and_what_they_need_exists() -> None:
    document = compose()
    services = document["services"]
    for name, service in services.items():
        assert ("image" in service) != ("build" in service), name
        assert set(service.get("depends_on", {})) <= set(services), name
        for source, _ in mounted(service):
            if source.startswith("."):
                assert (COMPOSE / source).resolve().exists(), f"{name}: {source}"
            else:
                assert source in document["volumes"], f"{name}: {source}"


def test_compose_waits_for_health_not_for_start() -> None:
    services = compose()["services"]
    for name, service in services.items():
        for needed, condition in service.get("depends_on", {}).items():
            assert condition["condition"] in {"service_healthy", "service_completed_successfully"}, name
            if condition["condition"] == "service_healthy":
                assert "healthcheck" in services[needed], needed


def test_compose_publishes_on_loopback_only_and_pins_its_images() -> None:
    for name, service in compose()["services"].items():
        assert all(str(port).startswith("127.0.0.1:") for port in service.get("ports", [])), name
        image = service.get("image", "pinned:1")
        assert ":" in image, name
        assert not image.endswith(":latest"), name


def test_compose_writes_down_no_secret() -> None:
    for service in compose()["services"].values():
        for key, value in service.get("environment", {}).items():
            if re.search(r"password|token|secret", key, re.IGNORECASE):
                assert str(value).startswith(("${", "/run/secrets/")), key


def test_the_image_is_built_from_the_lock_file_and_runs_as_an_ordinary_user() -> None:
    lines = (COMPOSE / "Dockerfile").read_text().splitlines()
    assert any("--require-hashes" in line and "requirements.lock" in line for line in lines)
    assert any(line.startswith("USER ") and line != "USER root" for line in lines)
    build = compose()["services"]["sereno"]["build"]
    assert (COMPOSE / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).is_file()


def test_prometheus_scrapes_the_services_of_compose() -> None:
    config = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
    targets = [
        target.rsplit(":", 1)[0]
        for job in config["scrape_configs"]
        for static in job["static_configs"]
        for target in static["targets"]
    ]
    assert targets
    assert set(targets) <= compose()["services"].keys() | {"localhost"}


def test_grafana_finds_the_board_and_its_data_source() -> None:
    grafana = {target: source for source, target in mounted(compose()["services"]["grafana"])}
    provider = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/sereno.yml").read_text())
    folder = provider["providers"][0]["options"]["path"]
    assert (COMPOSE / grafana[f"{folder}/wakes.json"]).resolve() == DEPLOY / "grafana/wakes.json"
    assert (COMPOSE / grafana["/etc/grafana/provisioning"]).resolve() == DEPLOY / "grafana/provisioning"


def test_nats_itself_accepts_its_configuration() -> None:
    check = subprocess.run(
        [find_server(), "-t", "-c", COMPOSE / "nats.conf"],
        env={"SERENO_NATS_TOKEN": "for-tests-only"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert check.returncode == 0, check.stderr
