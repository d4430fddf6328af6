"""What rotating keys makes of what the former ones signed."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sereno.deploy.data_folder import DataFolder
from sereno.deploy.identities import Identities
from sereno.deploy.main import build
from sereno.execution_plane.manifest import trust
from sereno.mailbox.audit import checkpoint, keys
from sereno.mailbox.audit.chain import Head
from sereno.mailbox.audit.checkpoint import Checkpoint
from sereno.mailbox.audit.checkpointing import anchors, now
from sereno.mailbox.bearer import LeaseBearers

END = Head(7, b"\7" * 32)


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    folder = DataFolder(tmp_path / "data")
    folder.make()
    return folder


def rotate(folder: DataFolder, *words: str) -> str:
    done = CliRunner().invoke(build(), ["keys", "rotate", *words, "--data", str(folder.root)])
    assert done.exit_code == 0, done.output
    return str(done.output)


def signed(identities: Identities, taken_at: str | None = None) -> bytes:
    key = keys.load(identities.audit_key_file("execution"))
    return checkpoint.sign(Checkpoint("execution", taken_at or now(), {"acme": END}, {}), key.private, key.id)


def test_a_checkpoint_of_before_counts_after_a_rotation_and_a_later_one_by_its_key_does_not(
    folder: DataFolder,
) -> None:
    identities = Identities(folder.secrets)
    before = signed(identities)
    old_key = keys.load(identities.audit_key_file("execution"))
    trusted_before = keys.trusted(identities.audit_keys_file)
    rotate(folder, "audit")
    trusted = keys.trusted(identities.audit_keys_file)
    assert trusted.keys() > trusted_before.keys()
    late = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    forged = checkpoint.sign(Checkpoint("execution", late, {"acme": END}, {}), old_key.private, old_key.id)
    found = anchors(b"\n".join((before, signed(identities), forged)), trusted, "execution", "acme")
    assert found.heads == (END, END)
    [fault] = found.faults
    assert "line 3: signed after its key was retired" in fault
    rotate(folder, "audit")
    twice = keys.trusted(identities.audit_keys_file)
    assert anchors(before, twice, "execution", "acme").heads == (END,)
    assert len(twice) == 6, "the first two retired, the second two too, and the two in use"


def test_both_snapshot_keys_are_pinned_until_the_next_rotation(folder: DataFolder) -> None:
    identities = Identities(folder.secrets)
    [first] = trust.read(identities.manifest_keys_file)
    rotate(folder, "snapshot")
    second = set(trust.read(identities.manifest_keys_file)) - {first}
    assert len(second) == 1
    assert first in trust.read(identities.manifest_keys_file)
    rotate(folder, "snapshot")
    third = set(trust.read(identities.manifest_keys_file))
    assert first not in third
    assert second < third


def test_the_former_token_and_bearers_end(folder: DataFolder) -> None:
    identities = Identities(folder.secrets)
    token, hashed = identities.admin_token_file.read_text(), identities.admin_token_sha256_file.read_text()
    bearer = LeaseBearers(identities.lease_key_file.read_bytes()).issue(5)
    said = rotate(folder)
    assert [line.partition(":")[0] for line in said.splitlines()] == ["snapshot", "token", "audit"]
    assert identities.admin_token_file.read_text() != token
    assert identities.admin_token_sha256_file.read_text() != hashed
    assert LeaseBearers(identities.lease_key_file.read_bytes()).token_of(bearer) is None
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.secrets.iterdir())


def test_keys_of_a_running_installation_are_not_touched(folder: DataFolder) -> None:
    Identities(folder.secrets).rotate_audit(now())
    with folder.held():
        done = CliRunner().invoke(build(), ["keys", "rotate", "--data", str(folder.root)])
    assert done.exit_code != 0
