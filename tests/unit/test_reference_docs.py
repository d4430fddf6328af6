"""The tables of the reference, held against the code that they describe."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from sereno.deploy.main import build
from sereno.envelope.types import CATALOGUE
from sereno.mailbox.cli.exits import Exit
from sereno.mailbox.engine.instruments import LABELS, METRICS
from sereno.mailbox.engine.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs/reference"
GENERATED = ROOT / "schemas/sereno/schemas/generated"
COMMON_OPTIONS = {"--help", "--json", "--data", "--token", "--control-url", "--execution-url", "--tenant"}
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(?:#[^)]*)?\)")


def first_cells(page: str, pattern: str = r"`([^`]+)`") -> list[str]:
    return re.findall(rf"^\| {pattern} \|", (REFERENCE / page).read_text(), re.MULTILINE)


def test_the_metrics_page_lists_what_is_exposed() -> None:
    listed = [name for name in first_cells("metrics.md") if name.startswith("sereno_")]
    assert listed == [metric.exposed for metric in METRICS.values()]


def test_the_metrics_page_says_what_the_code_says() -> None:
    text = (REFERENCE / "metrics.md").read_text()
    for metric in METRICS.values():
        labels = ", ".join(f"`{label}`" for label in metric.labels) or "-"
        assert f"| `{metric.exposed}` | {metric.kind} | {labels} | {metric.description} |" in text
    for label, bound in LABELS.items():
        assert f"| `{label}` | {bound} |" in text


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


def test_the_http_page_lists_every_request_of_both_planes() -> None:
    for plane in ("control", "execution"):
        document = json.loads((GENERATED / f"{plane}.openapi.json").read_text())
        section = (REFERENCE / "http.md").read_text().split(f"## {plane.title()} plane")[1].split("\n## ")[0]
        documented = set(re.findall(r"^\| `(\w+ \S+)` \|", section, re.MULTILINE))
        assert documented == {
            f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods
        }


def test_the_command_line_page_lists_every_command_with_its_options() -> None:
    text = (REFERENCE / "cli.md").read_text()
    documented = {
        " ".join(word for word in usage.split()[1:] if word.islower()): set(re.findall(r"--[\w-]+", options))
        for usage, options in re.findall(r"^\| `([^`]+)` \| .+ \| (.+) \|$", text, re.MULTILINE)
        if usage.startswith("sereno ")
    }
    assert documented == dict(commands(typer.main.get_command(build()), ()))


def commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, set[str]]]:
    """Each command by its words, with the options that are not common to many."""
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))
    if not hasattr(command, "commands"):
        shown = (one for one in command.params if one.param_type_name == "option" and not one.hidden)
        options = {max(option.opts, key=len) for option in shown}
        yield " ".join(path), options - COMMON_OPTIONS
