"""HTTP headers as a sender sent them: in order, repeated ones kept."""

from collections.abc import Iterable, Sequence
from typing import Self

Headers = Sequence[tuple[str, str]]
"""Names in lower case and values, as received."""


class Received(list[tuple[str, str]]):
    """The headers of one request, which are asked for by name again and again."""

    __slots__ = ("by_name",)
    by_name: dict[str, str | None]
    """None for a name that stands more than once."""

    @classmethod
    def of(cls, raw: Iterable[tuple[bytes, bytes]]) -> Self:
        """The headers of an ASGI scope."""
        found = cls([(name.decode("latin-1"), value.decode("latin-1")) for name, value in raw])
        found.by_name = {name: value.strip() for name, value in found}
        if len(found.by_name) != len(found):
            names = [name for name, _ in found]
            found.by_name.update((name, None) for name in names if names.count(name) > 1)
        return found


def single(headers: Headers, name: str) -> str | None:
    """The value of a header that stands exactly once; a repeated one counts as absent, since nobody knows which is meant."""
    if isinstance(headers, Received):
        return headers.by_name.get(name)
    values = [value for key, value in headers if key == name]
    return values[0].strip() if len(values) == 1 else None
