"""HTTP headers as a sender sent them: in order, repeated ones kept."""

from collections.abc import Sequence

Headers = Sequence[tuple[str, str]]
"""Names in lower case and values, as received."""


def single(headers: Headers, name: str) -> str | None:
    """The value of a header that stands exactly once; a repeated one counts as absent, since nobody knows which is meant."""
    values = [value for key, value in headers if key == name]
    return values[0].strip() if len(values) == 1 else None
