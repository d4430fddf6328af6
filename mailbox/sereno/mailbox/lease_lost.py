"""The fault of acting under a lease that is not live any more."""


class LeaseLostError(Exception):
    """Somebody else has the message by now, or nobody: stop at once. `status` says how it ended."""

    def __init__(self, token: int, status: str) -> None:
        super().__init__(f"the lease {token} is not live: {status}")
        self.token = token
        self.status = status
