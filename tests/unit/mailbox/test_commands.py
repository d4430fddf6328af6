"""What the mailbox's commands refuse before they ask anybody."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sereno.mailbox.cli.exits import CommandError, Exit
from sereno.mailbox.commands.bulk import dead, redrive
from sereno.mailbox.commands.lists import list_mailboxes
from sereno.mailbox.commands.options import age
from sereno.mailbox.commands.work import work

NOW = datetime(2026, 5, 4, 10, 0, tzinfo=UTC)
NOBODY = {"url": "http://127.0.0.1:9", "token": "t"}


@pytest.mark.parametrize(
    ("command", "options", "sentence"),
    [
        (redrive, {"agent": "a", "reason": "mended"}, "--all: expected it, or a filter"),
        (dead, {"agent": "a", "reason": "mended"}, "--all: expected it, or a filter"),
        (
            redrive,
            {"agent": "a", "reason": "mended", "everything": True, "died_of": "exhausted"},
            "--all: expected no filter beside it",
        ),
        (redrive, {"agent": "a", "reason": "mended", "older_than": "5"}, "--older-than: expected a duration"),
        (
            redrive,
            {"agent": "a", "reason": "mended", "older_than": "-5m"},
            "--older-than: expected at least 0s",
        ),
        (list_mailboxes, {"state": "dead"}, "--state: expected an AGENT"),
        (list_mailboxes, {"older_than": "1h"}, "--older-than: expected an AGENT"),
        (list_mailboxes, {"agent": "a", "state": "ready", "holder": "x"}, "--holder: expected with it no"),
        (list_mailboxes, {"agent": "a", "died_of": "exhausted", "holder": "x"}, "--holder: expected"),
        (
            list_mailboxes,
            {"agent": "a", "state": "ready", "died_of": "x"},
            "--died-of: expected with it no --state",
        ),
        (work, {"agent": "a", "command": "true", "lease": "60"}, "--lease: expected a duration such as 30s"),
        (work, {"agent": "a", "command": "true", "lease": "60ms"}, "--lease: expected 0:00:01 to 1 day"),
        (work, {"agent": "a", "command": "true", "grace": "-1s"}, "--grace: expected at least 0s"),
        (work, {"agent": "a", "command": "no-such-command-here"}, "--exec: there is no command"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    command: Callable[..., None], options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(CommandError) as refused:
        command(**options, **NOBODY)
    assert refused.value.exit_code is Exit.BAD_INPUT
    assert sentence in refused.value.message
    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    ("passed", "shown"),
    [
        (timedelta(seconds=-3), "0s"),
        (timedelta(seconds=7.9), "7s"),
        (timedelta(minutes=3, seconds=7), "3m7s"),
        (timedelta(hours=1, minutes=2, seconds=3), "1h2m"),
        (timedelta(days=2, hours=1, seconds=5), "2d1h"),
    ],
)
def test_ages_are_for_people(passed: timedelta, shown: str) -> None:
    assert age((NOW - passed).isoformat(), NOW) == shown


def test_no_time_has_no_age() -> None:
    assert age(None, NOW) is None
