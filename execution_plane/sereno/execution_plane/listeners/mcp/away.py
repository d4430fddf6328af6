"""Why a server was not read: sentences for people, never with what a credential says."""


class SourceAwayError(Exception):
    """The server did not answer, or not with what was asked for; trying again later is right."""


class NotAllowedError(Exception):
    """The call is none that the connector allows; nothing was asked."""


class CallsUsedUpError(Exception):
    """The calls of this hour are used up; nothing was asked."""


class StoppedError(Exception):
    """The server is not what it was; `cause` is a stable word."""

    def __init__(self, cause: str, why: str) -> None:
        super().__init__(why)
        self.cause = cause
