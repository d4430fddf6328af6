"""Named statements are read by name; a broken file is refused."""

import pytest

from sereno.mailbox.engine import queries


def test_statements_are_found_by_their_name() -> None:
    statements = queries.load("sereno.mailbox.engine", "outbox.sql")
    assert set(statements) == {"append", "pending", "mark", "prune", "lag", "leader"}
    assert statements["mark"].startswith("UPDATE")
    assert "-- name" not in "".join(statements.values())


@pytest.mark.parametrize("text", ["SELECT 1;", "-- name: a\nSELECT 1;\n-- name: a\nSELECT 2;"])
def test_a_file_without_names_or_with_one_twice_is_refused(
    text: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("sql")
    package = folder / f"queries_{abs(hash(text))}"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "broken.sql").write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    with pytest.raises(ValueError, match="each name once"):
        queries.load(package.name, "broken.sql")
