"""What `make` says where nothing can be installed: one clear sentence, exit code 2, no half-made `.venv`."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files that the installation looks at."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def refused(clone: Path, python: str, **environment: str) -> str:
    done = subprocess.run(
        ["make", "demo", f"PYTHON={python}"],
        cwd=clone,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert not (clone / ".venv").exists()
    sentence, make = done.stderr.splitlines()
    assert make.startswith("make: ***")
    return sentence


def test_a_python_without_ensurepip_names_the_package(clone: Path) -> None:
    (clone / "ensurepip.py").write_text("raise ImportError\n")
    sentence = refused(clone, sys.executable, PYTHONPATH=str(clone))
    assert "ensurepip is missing" in sentence
    assert f"python3-venv (python{sys.version_info.major}.{sys.version_info.minor}-venv)" in sentence


def test_no_python_or_an_old_one_is_named(clone: Path) -> None:
    old = clone / "old"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    for python in (str(old), str(clone / "none")):
        assert f"Sereno needs Python 3.11 or newer, and '{python}' is missing or older" in refused(
            clone, python
        )
