"""Commands find the planes by flags, then environment, then the file that `sereno up` wrote."""

import json
from pathlib import Path

import pytest

from sereno.mailbox.cli.discovery import default_data_folder, discover
from sereno.mailbox.cli.exits import CommandError, Exit, of_status


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("srn_file\n")
    content = {
        "control_url": "http://file:1",
        "execution_url": "http://file:2",
        "token_file": str(tmp_path / "token"),
    }
    (tmp_path / "sereno.json").write_text(json.dumps(content))
    return tmp_path


def test_the_file_answers_last(data: Path) -> None:
    found = discover(control_url="http://flag", data=data, environment={"SERENO_EXECUTION_URL": "http://env"})
    assert found.control() == ("http://flag", "srn_file")
    assert found.execution() == ("http://env", "srn_file")


def test_nothing_known_is_unreachable_and_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="sereno up") as error:
        discover(data=tmp_path, environment={}).control()
    assert error.value.exit_code is Exit.UNREACHABLE


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "sereno.json").write_text("{")
    with pytest.raises(CommandError, match=r"sereno\.json"):
        discover(data=tmp_path, environment={})


@pytest.mark.parametrize("content", ["[]", '{"control_url": 5}', '{"token_file": []}'])
def test_a_file_of_another_shape_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "sereno.json").write_text(content)
    with pytest.raises(CommandError, match=r"sereno\.json: expected"):
        discover(data=tmp_path, environment={})


def test_what_cannot_be_opened_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "sereno.json").mkdir()
    (tmp_path / "token").write_bytes(b"\xff")
    assert discover(data=tmp_path, environment={}).token is None
    assert discover(data=tmp_path / ("a" * 300), environment={}).token is None
    (tmp_path / "sereno.json").rmdir()
    (tmp_path / "sereno.json").write_text(f'{{"token_file": "{tmp_path}/token"}}')
    assert discover(data=tmp_path, environment={}).token is None


@pytest.mark.parametrize("token", ["srn_é", "srn_a\nb", "srn_\udcff"])
def test_a_token_that_no_header_can_carry_is_refused_and_not_quoted(tmp_path: Path, token: str) -> None:
    with pytest.raises(CommandError, match="the token has characters") as error:
        discover(data=tmp_path, token=token, environment={})
    assert "srn_" not in error.value.message


def test_the_data_folder_follows_the_environment(tmp_path: Path) -> None:
    assert default_data_folder({"SERENO_DATA": str(tmp_path)}) == tmp_path
    assert default_data_folder({"XDG_STATE_HOME": str(tmp_path)}) == tmp_path / "sereno"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (422, Exit.BAD_INPUT),
        (404, Exit.BAD_INPUT),
        (409, Exit.REFUSED),
        (401, Exit.REFUSED),
        (503, Exit.UNREACHABLE),
        (500, Exit.FAULT),
    ],
)
def test_statuses_lead_to_exit_codes(status: int, code: Exit) -> None:
    assert of_status(status) is code
