"""Tables show what outsiders wrote as they wrote it, and obey none of it."""

import pytest

from sereno.mailbox.cli.output import plain, print_table


@pytest.mark.parametrize(
    "written", ["[/x]", "[bold]a[/bold]", ":warning:", "[link=https://e.example]a", "a\\[b"]
)
def test_a_cell_is_no_markup(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("id",), [(written,)])
    assert written in capsys.readouterr().out


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a\x1b[2Jb", "a\\u001b[2Jb"),
        ("a\rb", "a\\u000db"),
        ("exe.\u202egnp", "exe.\\u202egnp"),
        ("é\n中", "é\n中"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(written: str, shown: str) -> None:
    assert plain(written) == shown
