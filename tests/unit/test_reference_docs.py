"""The tables of the reference, held against the code that they describe."""

import re
from pathlib import Path

from sereno.envelope.types import CATALOGUE
from sereno.mailbox.cli.exits import Exit
from sereno.mailbox.engine.settings import Settings
from sereno.mailbox.engine.telemetry import METRICS

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs/reference"
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(?:#[^)]*)?\)")


def first_cells(page: str, pattern: str = r"`([^`]+)`") -> list[str]:
    return re.findall(rf"^\| {pattern} \|", (REFERENCE / page).read_text(), re.MULTILINE)


def test_the_metrics_page_lists_what_is_exposed() -> None:
    assert first_cells("metrics.md") == [metric.exposed for metric in METRICS.values()]


def test_the_metrics_page_says_what_the_code_says() -> None:
    text = (REFERENCE / "metrics.md").read_text()
    for metric in METRICS.values():
        labels = ", ".join(f"`{label}`" for label in metric.labels) or "-"
        assert f"| `{metric.exposed}` | {metric.kind} | {labels} | {metric.description} |" in text


def test_the_configuration_page_lists_every_setting() -> None:
    documented = {
        name for name in first_cells("configuration.md") if name not in {"SERENO_TOKEN", "SERENO_DATA"}
    }
    assert documented == {f"SERENO_{name.upper()}" for name in Settings.model_fields}


def test_the_configuration_page_says_what_the_code_says() -> None:
    text = (REFERENCE / "configuration.md").read_text()
    for name, field in Settings.model_fields.items():
        assert re.search(
            rf"^\| `SERENO_{name.upper()}` \| .+ \| {re.escape(field.description or '')} \|$",
            text,
            re.MULTILINE,
        )


def test_the_envelope_page_lists_the_types_of_our_own() -> None:
    documented = {name for name in first_cells("envelope.md") if name.startswith("sereno.")}
    assert documented == {entry.name for entry in CATALOGUE}


def test_the_errors_page_lists_every_exit_code() -> None:
    assert first_cells("errors.md", r"(\d)") == [str(int(code)) for code in Exit]


def test_no_link_between_pages_is_broken() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in LINK.findall(page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []
