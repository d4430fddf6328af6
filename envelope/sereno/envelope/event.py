"""A CloudEvent as an outsider sent it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Final

SPECVERSION = "1.0"


class JsonNull(Enum):
    """The JSON value null sent as data, which is not the same as no data."""

    NULL = "null"


NULL: Final = JsonNull.NULL


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A CloudEvent 1.0.2 as its sender wrote it, before anything of ours is added.

    `data` is parsed JSON, `str` for text, `bytes` for anything else, NULL for a JSON null, None when absent.
    `time` is UTC, cut to microseconds. `extensions` holds every attribute that the specification does not name.
    """

    id: str
    source: str
    type: str
    time: datetime | None = None
    subject: str | None = None
    datacontenttype: str | None = None
    dataschema: str | None = None
    data: object = None
    extensions: Mapping[str, str | int | bool] = field(default_factory=dict)
