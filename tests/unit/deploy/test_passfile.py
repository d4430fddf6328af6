import stat
from pathlib import Path

import pytest

from sereno.deploy.faults import StartError
from sereno.deploy.passfile import without_password


def test_the_password_moves_to_a_private_file(tmp_path: Path) -> None:
    file = tmp_path / "pgpass"
    moved = without_password("postgresql://ada:a%3Ab%5Cc@db.example:5433/sereno?ssl=require", file)
    assert moved.startswith("postgresql://ada@db.example:5433/sereno?ssl=require&passfile=")
    assert file.read_text() == "db.example:5433:*:ada:a\\:b\\\\c\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_dsn_without_a_password_stays_as_it_is(tmp_path: Path) -> None:
    dsn = "postgresql://ada@db.example/sereno?passfile=/etc/pgpass"
    assert without_password(dsn, tmp_path / "pgpass") == dsn
    assert not (tmp_path / "pgpass").exists()


@pytest.mark.parametrize("dsn", ["", "nonsense", "mysql://u:hidden@h/d", "postgresql://u:hidden@h:port/d"])
def test_a_malformed_dsn_is_refused_without_repeating_it(dsn: str, tmp_path: Path) -> None:
    with pytest.raises(StartError, match="malformed") as refusal:
        without_password(dsn, tmp_path / "pgpass")
    assert "hidden" not in str(refusal.value)
