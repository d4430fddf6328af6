"""The shape of the repository: what holds the seven portions together and would break without a sound."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PORTIONS = (
    "control_plane",
    "deploy",
    "envelope",
    "execution_plane",
    "mailbox",
    "schemas",
    "subscriptions",
)
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EMPTY_NAMES = {"base", "bases", "common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}
# A statement, not a sentence that starts with one of these verbs.
SQL = re.compile(
    r"\b(SELECT\s.+\sFROM\s|INSERT\s+INTO\s+\w|UPDATE\s+[\w.{}\"]+\s+SET\s|DELETE\s+FROM\s+[\w{])",
    re.IGNORECASE | re.DOTALL,
)
# Roles are made from names that PostgreSQL takes no parameter for; migrations are SQL written down once.
SQL_MAY_STAND_IN = ("migrations",)


def modules() -> Iterator[Path]:
    for portion in PORTIONS:
        yield from sorted((ROOT / portion / "sereno").rglob("*.py"))


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every string of a module with its line; an f-string's holes become {}. Docstrings are left out."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    inside_f_strings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside_f_strings.update(id(part) for part in ast.walk(node) if part is not node)
            yield (
                node.lineno,
                "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values),
            )
    left_out = docstrings | inside_f_strings
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if id(node) not in left_out:
            yield node.lineno, node.value


@pytest.mark.parametrize("portion", PORTIONS)
def test_a_portion_is_open_and_its_package_is_not(portion: str) -> None:
    # In a top-level folder it would shadow the standard library's mailbox; in sereno/ it would hide the other portions.
    assert not (ROOT / portion / "__init__.py").exists()
    assert not (ROOT / portion / "sereno" / "__init__.py").exists()
    assert (ROOT / portion / "sereno" / portion / "__init__.py").is_file()


@pytest.mark.parametrize("portion", PORTIONS)
def test_a_portion_holds_only_its_own_package(portion: str) -> None:
    packages = {
        p.name for p in (ROOT / portion / "sereno").iterdir() if p.is_dir() and p.name != "__pycache__"
    }
    assert packages == {portion}


@pytest.mark.parametrize("portion", PORTIONS)
def test_a_portion_says_what_it_is_and_where_it_ends(portion: str) -> None:
    title = (ROOT / portion / "README.md").read_text().splitlines()[0]
    assert title.lower() in {f"# {portion}", f"# {portion.replace('_', ' ')}"}


def test_every_portion_is_built_typed_covered_and_importable_in_place() -> None:
    tool = PYPROJECT["tool"]
    wheel = tool["hatch"]["build"]["targets"]["wheel"]
    assert set(wheel["packages"]) == {f"{p}/sereno" for p in PORTIONS}
    assert set(wheel["dev-mode-dirs"]) == set(PORTIONS)
    assert set(tool["mypy"]["mypy_path"].split(":")) == set(PORTIONS)
    assert tool["mypy"]["files"] == ["*/sereno", "tests"]
    assert set(tool["coverage"]["run"]["source"]) == set(PORTIONS)


def test_imports_only_go_down_and_nothing_is_excused() -> None:
    layers, *forbidden = PYPROJECT["tool"]["importlinter"]["contracts"]
    assert layers["layers"] == [
        "sereno.deploy",
        "sereno.control_plane | sereno.execution_plane",
        "sereno.mailbox",
        "sereno.subscriptions",
        "sereno.envelope",
        "sereno.schemas",
    ]
    core = {module for contract in forbidden for module in contract["source_modules"]}
    assert {"sereno.envelope", "sereno.subscriptions"} <= core
    assert not any("ignore_imports" in contract for contract in (layers, *forbidden))


def test_sql_stands_in_sql_files() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in modules()
        if not set(SQL_MAY_STAND_IN) & set(path.parts)
        for line, text in strings(ast.parse(path.read_text()))
        if SQL.search(text)
    ]
    assert found == []


def test_the_search_for_sql_finds_it() -> None:
    source = 'def f(t):\n    "Select one from many."\n    return f"select a from {t}", "insert into x values (1)"\n'
    assert [line for line, text in strings(ast.parse(source)) if SQL.search(text)] == [3, 3]


def test_every_sql_file_is_named_statements() -> None:
    for path in sorted(p for portion in PORTIONS for p in (ROOT / portion).rglob("*.sql")):
        if "migrations" in path.parts:
            continue
        names = re.findall(r"^-- name: (\S+)", path.read_text(), re.MULTILINE)
        assert names, f"{path.relative_to(ROOT)} has no '-- name:' line"
        assert len(names) == len(set(names)), f"{path.relative_to(ROOT)} names a statement twice"


def test_modules_are_named_after_what_they_hold() -> None:
    assert [str(p.relative_to(ROOT)) for p in modules() if p.stem in EMPTY_NAMES] == []


def test_no_handler_of_a_group_raises() -> None:
    # Python 3.11.2, Debian's, wraps what `except*` raises into a group again, and no `except` of a caller finds it.
    found = [
        f"{path.relative_to(ROOT)}:{raised.lineno}"
        for path in modules()
        for tried in ast.walk(ast.parse(path.read_text()))
        if isinstance(tried, ast.TryStar)
        for handler in tried.handlers
        for raised in ast.walk(handler)
        if isinstance(raised, ast.Raise)
    ]
    assert found == []


def test_the_lock_files_hold_what_pyproject_asks_for() -> None:
    def named(requirements: list[str]) -> set[str]:
        return {re.split(r"[\[<>=;~! ]", r, maxsplit=1)[0].lower().replace("_", "-") for r in requirements}

    def locked(file: str) -> dict[str, str]:
        return dict(re.findall(r"^([a-z0-9.-]+)==([^ ;\\]+)", (ROOT / file).read_text(), re.MULTILINE))

    project = PYPROJECT["project"]
    run = named(project["dependencies"]) | named(project["optional-dependencies"]["embedded"])
    assert run <= locked("requirements.lock").keys()
    development = locked("requirements-dev.lock")
    assert run | named(PYPROJECT["dependency-groups"]["dev"]) <= development.keys()
    assert locked("requirements.lock").items() <= development.items()


@pytest.mark.parametrize("file", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_file_names_no_place_and_hashes_everything(file: str) -> None:
    text = (ROOT / file).read_text()
    assert "://" not in text
    assert "--index-url" not in text
    pinned = re.findall(r"^\S+==.*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    assert pinned
    assert all("--hash=sha256:" in pin for pin in pinned)
