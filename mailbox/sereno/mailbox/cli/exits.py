"""Exit codes of the command line, and the one way a command fails: a sentence on stderr."""

from enum import IntEnum


class Exit(IntEnum):
    """What the exit code of a command means."""

    DONE = 0
    FAULT = 1
    BAD_INPUT = 2
    REFUSED = 3
    UNREACHABLE = 4


class CommandError(Exception):
    """A command ends here: one clear sentence for stderr, and the exit code."""

    def __init__(self, message: str, exit_code: Exit = Exit.BAD_INPUT) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code


def of_status(status: int) -> Exit:
    """The exit code that an HTTP status from an API leads to."""
    if status in {400, 404, 413, 415, 422}:
        return Exit.BAD_INPUT
    if status in {401, 403, 409, 410, 423, 429}:
        return Exit.REFUSED
    if status in {502, 503, 504}:
        return Exit.UNREACHABLE
    return Exit.FAULT
