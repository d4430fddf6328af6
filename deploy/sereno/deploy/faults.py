"""What can stop a server or a process from starting, as a sentence a person can act on."""

from sereno.mailbox.cli.exits import CommandError, Exit


class StartError(CommandError):
    """Something does not start; the message is one sentence fit for a person."""

    def __init__(self, message: str, exit_code: Exit = Exit.FAULT) -> None:
        super().__init__(message, exit_code)
