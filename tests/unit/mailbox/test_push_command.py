"""What `sereno push` refuses before it claims anything."""

from pathlib import Path
from typing import Any

import pytest

from sereno.mailbox.cli.exits import CommandError, Exit
from sereno.mailbox.commands.push import push

NOBODY = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "--secret: expected it or --bearer"),
        ({"secret": ["env:HOOK"], "bearer": "env:HOOK"}, "--secret: expected it or --bearer"),
        ({"target": "ftp://x.example/", "bearer": "env:HOOK"}, "--url: expected a URL"),
        ({"callback": "nowhere", "bearer": "env:HOOK"}, "--callback-url: expected a URL"),
        ({"bearer": "plainly"}, "--bearer: expected env:NAME or file:PATH"),
        ({"bearer": "env:NOT_SET"}, "--bearer: env:NOT_SET names nothing"),
        ({"secret": ["env:HOOK"]}, "--secret: expected a secret of"),
        ({"bearer": "env:HOOK", "allow_network": ["everything"]}, "--allow-network: expected a network"),
        ({"bearer": "env:HOOK", "body": Path("/nowhere.json")}, "--body: /nowhere.json cannot be read"),
        ({"bearer": "env:HOOK", "timeout": "60"}, "--timeout: expected a duration such as 30s"),
        ({"bearer": "env:HOOK", "timeout": "2h"}, "--timeout: expected at most 1h"),
        ({"bearer": "env:HOOK", "lease": "100ms"}, "--lease: expected 0:00:01 to 1 day"),
        ({"bearer": "env:HOOK", "grace": "soon"}, "--grace: expected a duration"),
    ],
)
def test_what_cannot_be_pushed_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], sentence: str
) -> None:
    monkeypatch.setenv("HOOK", "value-of-the-hook")
    given = {"target": "http://x.example/", "url": NOBODY, "token": "t", "once": True, **options}
    with pytest.raises(CommandError) as refused:
        push(agent="triage", **given)
    assert refused.value.exit_code is Exit.BAD_INPUT
    assert sentence in refused.value.message
    assert "\n" not in refused.value.message
    assert not {"plainly", "value-of-the-hook"} & set(refused.value.message.split())
