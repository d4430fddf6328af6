"""The files under deploy/ that other programs read: valid, and true to what the code exposes."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from sereno.deploy.embedded_nats import find_server

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = DEPLOY / "compose"


def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((COMPOSE / "compose.yaml").read_text())
    return document


def mounted(service: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for volume in service.get("volumes", []):
        source, target, *_ = volume.split(":")
        yield source, target


@pytest.mark.parametrize(
    "path",
    sorted(
        path
        for part in ("compose", "grafana", "prometheus", "tempo")
        for path in (DEPLOY / part).rglob("*.y*ml")
    ),
    ids=lambda path: path.name,
)
def test_yaml_is_valid(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text()), dict)


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


def test_grafana_finds_its_boards_and_their_data_sources() -> None:
    grafana = {target: source for source, target in mounted(compose()["services"]["grafana"])}
    provider = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/sereno.yml").read_text())
    folder = provider["providers"][0]["options"]["path"]
    assert (COMPOSE / grafana[folder]).resolve() == DEPLOY / "grafana/dashboards"
    assert (COMPOSE / grafana["/etc/grafana/provisioning"]).resolve() == DEPLOY / "grafana/provisioning"
    home = compose()["services"]["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert (DEPLOY / "grafana/dashboards" / Path(home).name).is_file()
    sources = [
        source
        for path in (DEPLOY / "grafana/provisioning/datasources").glob("*.yml")
        for source in yaml.safe_load(path.read_text())["datasources"]
    ]
    assert {source["type"] for source in sources} == {"prometheus", "tempo"}
    assert {source["url"].split("/")[2].split(":")[0] for source in sources} <= compose()["services"].keys()


def test_prometheus_finds_the_rules_beside_its_configuration() -> None:
    config = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
    prometheus = {target: source for source, target in mounted(compose()["services"]["prometheus"])}
    for name in config["rule_files"]:
        assert (COMPOSE / prometheus[f"/etc/prometheus/{name}"]).resolve() == DEPLOY / "prometheus" / name
    jobs = [job["job_name"] for job in config["scrape_configs"]]
    assert jobs == ["sereno-control", "sereno-gateway", "sereno-listeners", "sereno-pipeline"]


def test_nats_itself_accepts_its_configuration() -> None:
    check = subprocess.run(
        [find_server(), "-t", "-c", COMPOSE / "nats.conf"],
        env={"SERENO_NATS_TOKEN": "for-tests-only"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert check.returncode == 0, check.stderr
