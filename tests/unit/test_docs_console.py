"""The reader and runner of the commands that stand in the docs."""

import os
from pathlib import Path

import pytest

from tests.e2e.console import Command, commands, files, promised, run

PAGE = """# A page

```yaml title=thing.yaml
kind: Thing
```

```console
$ cat thing.yaml
kind: ...
$ cat <<END
> two
> END
two
$ true
```

```python
$ not a command
```
"""


def test_commands_carry_their_continuation_output_and_line() -> None:
    assert commands(PAGE) == [
        Command("cat thing.yaml", "kind: ...", 8),
        Command("cat <<END\ntwo\nEND", "two", 10),
        Command("true", "", 14),
    ]


def test_titled_blocks_are_files() -> None:
    assert files(PAGE) == {"thing.yaml": "kind: Thing\n"}


def test_output_before_a_command_is_a_mistake_of_the_page() -> None:
    with pytest.raises(ValueError, match="line 2: output before any command"):
        commands("```console\nhello\n```\n")


@pytest.mark.parametrize(
    ("output", "printed", "kept"),
    [
        ("", "anything", True),
        ("msg_... ready", "msg_01ab     ready  ", True),
        ("msg_... ready", "msg_01ab ready  \n", True),
        ("first\n...", "first\nand\nmore", True),
        ("first", "first\nmore", False),
        ("a.c", "abc", False),
    ],
)
def test_dots_stand_for_any_text_and_nothing_else_does(output: str, printed: str, kept: bool) -> None:
    assert promised(Command("c", output, 1), printed) is kept


def test_commands_of_a_page_share_a_shell(tmp_path: Path) -> None:
    steps = [Command("x=1", "", 1), Command("echo $x; echo err >&2", "", 2)]
    assert run(steps, tmp_path, {"PATH": os.environ["PATH"]}) == ["", "1\nerr\n"]


def test_the_first_command_that_fails_is_named(tmp_path: Path) -> None:
    steps = [Command("true", "", 1), Command("echo no; false", "", 7), Command("echo never", "", 8)]
    with pytest.raises(AssertionError, match=r"line 7: echo no; false\nended with 1:\n.*no") as caught:
        run(steps, tmp_path, {"PATH": os.environ["PATH"]})
    assert "never" not in str(caught.value).replace("echo never", "")
