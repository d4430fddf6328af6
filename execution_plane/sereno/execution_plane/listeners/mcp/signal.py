"""The envelope of an item that is news (pure)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

from sereno.envelope import dedup_key
from sereno.envelope.envelope import Envelope
from sereno.envelope.event import Event
from sereno.envelope.receipt import Receipt, receive
from sereno.envelope.types import MCP_ITEM
from sereno.execution_plane.listeners.mcp.extraction import Found, moment_of, projected

LARGEST = 65_536
"""Of an item, as JSON and after it was cut to the fields that are kept, bytes."""
_LONGEST_SUBJECT = 1_000


@dataclass(frozen=True, slots=True)
class View:
    """How items of a source are shown to those who asked for them in the same way."""

    id: str
    time: str | None = None
    project: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """Where items come from: whose connector, which tool, of which class, and whether they may leave the machine."""

    tenant: str
    connector: str
    tool: str
    asked: str
    """The identity of what was asked, whatever is read of the answer."""
    sensitivity: Literal["public", "internal", "confidential"]
    egress: Literal["local", "remote"]


def source_uri(connector: str, tool: str, view: str) -> str:
    """The `source` of the events of a view."""
    return f"mcp/{connector}/{quote(tool, safe='')}?view={view}"


def of_item(item: Found, view: View, origin: Origin, receiptid: str, now: datetime) -> Envelope | None:
    """The signal of an item; None when it is larger than an event may be.

    Whoever may write at the source wrote what it says, so it is not trusted.
    """
    data = _data(projected(item.data, view.project))
    if len(json.dumps(data, ensure_ascii=False).encode()) > LARGEST:
        return None
    heard = f"mcp/{origin.connector}"
    event = Event(
        id=f"{item.id}@{item.version}" if item.version else item.id,
        source=source_uri(origin.connector, origin.tool, view.id),
        type=MCP_ITEM,
        time=moment_of(item.data, view.time),
        subject=item.id[:_LONGEST_SUBJECT],
        datacontenttype="application/json",
        data=data,
    )
    return receive(
        event,
        Receipt(
            receiptid=receiptid,
            tenantid=origin.tenant,
            origin=heard,
            recordedtime=now,
            dedupkey=dedup_key.of_item(f"{heard}/{origin.asked}", item.id, item.version),
            trust="untrusted",
            sensitivity=origin.sensitivity,
        ),
        {"egress": origin.egress},
    )


def _data(value: Any) -> Any:
    """Filters look into fields, so what has none gets one."""
    return value if isinstance(value, dict) else {"item": value}
