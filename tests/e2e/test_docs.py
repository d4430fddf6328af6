"""Every command of the docs is run as it stands, page by page, or is in the list of those that cannot be, with the reason."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.console import Command, commands, files, promised, run

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    if page.is_file()
)

IN_CI = "installs into the clone itself; .ci/run does it on a fresh one"
NO_SERVERS = "names servers outside this machine; tests/integration/deploy starts `up` on existing ones"
NO_DOCKER = "needs a Docker engine; tests/unit/test_deploy_files.py checks the files"
NOT_RUN = {
    "make demo": IN_CI,
    "make up": "stays until it is interrupted; it is `sereno up`, which the other pages run with --detach",
    'export PATH="$PWD/.venv/bin:$PATH"': "belongs to `make demo`; the test has its own `sereno` on the path",
    "export SERENO_POSTGRES='postgresql://sereno_owner:…@db.internal:5432/sereno'": NO_SERVERS,
    "export SERENO_NATS='nats://…@nats.internal:4222'": NO_SERVERS,
    "sereno up": NO_SERVERS,
    "cd deploy/compose": NO_DOCKER,
    "cp .env.example .env": NO_DOCKER,
    "docker compose up --build --wait": NO_DOCKER,
}


def read(page: str) -> str:
    return (ROOT / page).read_text()


def steps(page: str) -> list[Command]:
    return [command for command in commands(read(page)) if command.text not in NOT_RUN]


@pytest.mark.timeout(1000)
@pytest.mark.parametrize("page", [page for page in PAGES if steps(page)])
def test_the_commands_of_a_page_do_what_it_says(page: str, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for name, text in files(read(page)).items():
        (work / name).write_text(text)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("SERENO_")},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "SERENO_DATA": str(tmp_path / "data"),
        "SERENO_CONTROL_PORT": "0",
        "SERENO_EXECUTION_PORT": "0",
        "COLUMNS": "160",
    }
    try:
        for command, printed in zip(steps(page), run(steps(page), work, environment), strict=True):
            assert promised(command, printed), f"{page}:{command.line}: {command.text}\nprinted:\n{printed}"
    finally:
        subprocess.run(["sereno", "down"], env=environment, check=False, capture_output=True)


def test_nothing_is_excused_that_no_page_names() -> None:
    named = {command.text for page in PAGES for command in commands(read(page))}
    assert set(NOT_RUN) <= named


def test_commands_stand_in_console_blocks_and_nowhere_else() -> None:
    """A command in another kind of block would not be run."""
    for page in PAGES:
        for language, text in re.findall(
            r"^```(\w*)[^\n`]*\n(.*?)^```$", read(page), re.MULTILINE | re.DOTALL
        ):
            if language != "console":
                assert not re.search(r"^\$ ", text, re.MULTILINE), f"{page}: {text}"
