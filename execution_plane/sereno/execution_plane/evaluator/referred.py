"""Data by reference: what an event carries only by its `dataref` is fetched, so that it can be judged.

The reference is the platform's own (it takes away one that a sender set), and only data of the event's own tenant is read.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from sereno.execution_plane.guards.judgement import EvaluationError
from sereno.execution_plane.large_data.claim_check import UNCLASSIFIED, reference_of
from sereno.execution_plane.large_data.store import SQL
from sereno.mailbox.connection import AnyPool

Event = Mapping[str, Any]
LARGEST_BYTES = 256_000
"""Of data by reference: what is longer is no verdict but an error; it is never cut."""
_TOO_LONG = f"its data is longer than the {LARGEST_BYTES:,} bytes that a model is shown"


class Found(NamedTuple):
    """What is stored under a reference; no bytes where it is larger than a model is shown."""

    media_type: str
    data: bytes | None


async def with_data(pool: AnyPool, tenant: str, events: Sequence[Event]) -> list[Event | EvaluationError]:
    """Each event (flat JSON) of this tenant with its data, or why that cannot be judged."""
    wanted = {each["dataref"] for each in events if each.get("dataref") is not None}
    found = await _read(pool, tenant, [one for text in wanted if (one := reference_of(text)) is not None])
    return [_whole(event, found) for event in events]


async def _read(
    pool: AnyPool, tenant: str, references: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], Found]:
    if not references:
        return {}
    classes, addresses = [one for one, _ in references], [address for _, address in references]
    rows = await pool.fetch(SQL["read_many"], tenant, classes, addresses, LARGEST_BYTES)
    return {(row["sensitivity"], row["address"]): Found(row["media_type"], row["data"]) for row in rows}


def _whole(event: Event, found: Mapping[tuple[str, str], Found]) -> Event | EvaluationError:
    text = event.get("dataref")
    if text is None:
        return event
    reference = reference_of(text)
    if reference is None:
        return EvaluationError(
            "data", "its data is at its source, which only the agent's own rights can read"
        )
    kept = found.get(reference)
    if kept is None:
        return EvaluationError("data", "its data is not kept any more")
    if kept.data is None:
        return EvaluationError("data", _TOO_LONG)
    data = _read_as(kept.media_type, kept.data)
    if isinstance(data, EvaluationError):
        return data
    declared = event.get("sensitivity") or reference[0]
    return {**event, "data": data, "sensitivity": None if declared == UNCLASSIFIED else declared}


def _read_as(media_type: str, data: bytes) -> Any:
    essence = media_type.partition(";")[0].strip().lower()
    try:
        if essence.endswith(("/json", "+json")):
            return orjson.loads(data)
        return data.decode()
    except ValueError:
        return EvaluationError("data", f"its data ({essence}) is no text that can be judged")
