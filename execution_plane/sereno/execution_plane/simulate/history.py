"""The lines of a simulation against history: what the store received, by the clock with which it was decided."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol

from sereno.envelope.decode import loads_envelope
from sereno.envelope.encode import rfc3339
from sereno.execution_plane.simulate.lines import Line, Received
from sereno.subscriptions.filters import of

# The simulation makes the instants of the schedules that it is given itself.
_MADE_ANEW = "time/"
_PAGE = 1_000


class Source(Protocol):
    """Answers GET requests with JSON."""

    def get(self, path: str, **query: Any) -> Any:
        """The JSON answer to a path and its query."""


def read(
    source: Source, tenants: Iterable[str], first: datetime | None, last: datetime | None
) -> list[tuple[int, Line]]:
    """Every event that these tenants received between `first` and `last`, numbered in the order of their decisions."""
    lines = [_line(item) for tenant in sorted(tenants) for item in _items(source, tenant, first, last)]
    lines.sort(key=lambda line: (line.at, line.envelope.receiptid))
    return list(enumerate((line for line in lines if not _is_made_anew(line)), start=1))


def _items(
    source: Source, tenant: str, first: datetime | None, last: datetime | None
) -> Iterator[Mapping[str, Any]]:
    query = {"from": first and rfc3339(first), "to": last and rfc3339(last)}
    after = None
    while True:
        page = source.get("/v1/history", tenant=tenant, after=after, limit=_PAGE, **query)
        yield from page["items"]
        after = page["next"]
        if after is None:
            return


def _line(item: Mapping[str, Any]) -> Received:
    envelope = item["envelope"]
    return Received(loads_envelope(envelope), of(envelope), datetime.fromisoformat(item["decided"]))


def _is_made_anew(line: Received) -> bool:
    return line.envelope.origin.startswith(_MADE_ANEW)
