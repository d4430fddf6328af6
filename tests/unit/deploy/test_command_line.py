"""However a command fails, people get one sentence and an exit code of the contract."""

import pytest
import typer

from sereno.deploy.command_line import new_app, run
from sereno.mailbox.cli.exits import CommandError, Exit


def _app(fault: Exception) -> typer.Typer:
    app = new_app()

    def fails() -> None:
        raise fault

    app.command("fails")(fails)
    app.command("serve")(fails)
    return app


def test_a_fault_of_ours_is_a_sentence_that_quotes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_app(RuntimeError("postgresql://u:hunter2@h")), ["fails"]) == Exit.FAULT
    said = capsys.readouterr().err
    assert said.startswith("sereno: a fault of Sereno itself, RuntimeError in test_command_line.py:")
    assert said.count("\n") == 1
    assert "hunter2" not in said


def test_of_a_group_the_first_fault_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    group = ExceptionGroup("unhandled errors in a TaskGroup", [KeyError("a"), ValueError("b")])
    assert run(_app(group), ["fails"]) == Exit.FAULT
    assert "KeyError" in capsys.readouterr().err


def test_who_mends_it_asks_for_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERENO_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        run(_app(RuntimeError()), ["fails"])


def test_the_log_of_a_process_holds_the_traceback() -> None:
    with pytest.raises(RuntimeError):
        run(_app(RuntimeError()), ["serve"])


def test_a_refusal_is_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_app(CommandError("not so", Exit.REFUSED)), ["fails"]) == Exit.REFUSED
    assert capsys.readouterr().err == "sereno: not so\n"
