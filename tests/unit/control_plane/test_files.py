"""The files of `-f`: what is read, in which order, and in which file and line a fault lies."""

from pathlib import Path

import pytest

from sereno.control_plane.commands import files
from sereno.mailbox.cli.client import ProblemError
from sereno.mailbox.cli.exits import CommandError, Exit
from sereno.subscriptions.documents import parse
from tests.control_documents import AGENT, ENDPOINT, subscription


def refusal(*faults: tuple[str, int | None]) -> ProblemError:
    problem = {"faults": [{"path": path, "message": "wrong", "line": line} for path, line in faults]}
    return ProblemError("wrong", Exit.BAD_INPUT, problem)


def test_a_folder_is_read_by_name_and_only_its_yaml(tmp_path: Path) -> None:
    (tmp_path / "b.yml").write_text(ENDPOINT.rstrip("\n"))
    (tmp_path / "a.yaml").write_text(AGENT)
    (tmp_path / "c.yaml").write_text(subscription())
    (tmp_path / "notes.txt").write_text("no")
    documents = parse(files.read(tmp_path).text)
    assert isinstance(documents, tuple)
    assert [document.kind for document in documents] == ["Agent", "Endpoint", "Subscription"]


def test_a_fault_is_placed_in_its_file(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml", "c.yaml"):
        (tmp_path / name).write_text("one: 1\ntwo: 2\n")
    read = files.read(tmp_path)
    lines = read.text.splitlines()
    assert [lines[index - 1] for index in (1, 5, 8)] == ["one: 1", "two: 2", "two: 2"]
    explained = read.explained(refusal(("x", 1), ("y", 5), ("z", 8), ("prune", None), ("", 2)))
    assert explained.exit_code is Exit.BAD_INPUT
    assert explained.message.splitlines() == [
        f"{tmp_path}/a.yaml:1: x: wrong",
        f"{tmp_path}/b.yaml:2: y: wrong",
        f"{tmp_path}/c.yaml:2: z: wrong",
        "prune: wrong",
        f"{tmp_path}/a.yaml:2: wrong",
    ]


def test_other_refusals_stay_as_they_are() -> None:
    conflict = ProblemError("version 2, not 1", Exit.REFUSED, {"code": "version_conflict"})
    assert files.Files("", ()).explained(conflict) is conflict


def test_what_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9\n")
    (tmp_path / "folder").mkdir()
    for path, said in (
        (tmp_path / "none.yaml", "No such file"),
        (tmp_path / "latin.yaml", "expected UTF-8"),
        (tmp_path / "folder", "found none"),
        (tmp_path / ("a" * 300), "File name too long"),
        (Path("/dev/zero"), "expected at most"),
    ):
        with pytest.raises(CommandError, match=said):
            files.read(path)
