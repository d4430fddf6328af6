"""Questions and answers as JSON, one a line: each line is answered in order, at once, whatever it says."""

from collections.abc import Callable, Iterable
from typing import Any, BinaryIO

import orjson

from sereno.subscriptions.recurrence.refusal import Refused

MAX_LINE_BYTES = 32 * 1024 * 1024

Answer = Callable[[Any], dict[str, Any]]


def answer_lines(questions: BinaryIO, answers: BinaryIO, answer: Answer) -> None:
    """Answer each line of `questions` with one flushed line, until there are no more."""
    for line in _lines(questions):
        answers.write(orjson.dumps(answer_line(line, answer)) + b"\n")
        answers.flush()


def answer_line(line: bytes | None, answer: Answer) -> dict[str, Any]:
    """The answer to one line; None is a line that was too long."""
    if line is None:
        return refusal("bad_input", f"the line is longer than {MAX_LINE_BYTES} bytes")
    try:
        question = orjson.loads(line)
    except orjson.JSONDecodeError as fault:
        return refusal("bad_input", f"expected a JSON object: {fault}")
    try:
        return answer(question)
    except Refused as refused:
        return refusal(refused.code, str(refused))
    except Exception as fault:  # noqa: BLE001 - the lines that follow are answered all the same
        return refusal("fault", f"this line met a fault of ours: {type(fault).__name__}")


def refusal(code: str, message: str) -> dict[str, Any]:
    """The answer that says why there is no other."""
    return {"error": {"code": code, "message": message}}


def _lines(questions: BinaryIO) -> Iterable[bytes | None]:
    while line := questions.readline(MAX_LINE_BYTES + 1):
        if len(line) <= MAX_LINE_BYTES:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = questions.readline(MAX_LINE_BYTES)
        yield None
