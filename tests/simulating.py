"""Simulations in a test: declarations, lines, and what comes of them as the JSON that the command prints."""

from collections.abc import Sequence
from typing import Any

import orjson

from sereno.execution_plane.simulate.rehearsal import rehearse
from sereno.subscriptions import documents
from sereno.subscriptions.faults import Faults
from sereno.subscriptions.models.types import parse_instant

DAY = "2026-03-02"
Lines = list[dict[str, Any]]


def at(clock: str, day: str = DAY) -> str:
    """An instant of the day of the simulations."""
    return f"{day}T{clock}Z"


def declared(kind: str, name: str, tenant: str = "acme", **spec: Any) -> dict[str, Any]:
    """A declared object."""
    metadata = {"name": name} if kind == "Tenant" else {"name": name, "tenant": tenant}
    return {"apiVersion": "sereno/v1", "kind": kind, "metadata": metadata, "spec": spec}


def watch(name: str = "watch", tenant: str = "acme", **spec: Any) -> dict[str, Any]:
    """A subscription to the endpoint zendesk; keywords replace fields of its specification."""
    written = {
        "owner": "user:marta",
        "agent": "agent:triage",
        "instruction": "Look.",
        "source": {"webhook": {"endpoint": "zendesk"}},
        **spec,
    }
    return declared("Subscription", name, tenant, **written)


def agent(name: str = "triage", **spec: Any) -> dict[str, Any]:
    """An agent that pulls its work."""
    return declared("Agent", name, owner="user:marta", adapter="pull", **spec)


def event(name: str, clock: str, day: str = DAY, **more: Any) -> dict[str, Any]:
    """A received envelope of the endpoint zendesk."""
    return {
        "specversion": "1.0",
        "id": name,
        "source": "/zendesk",
        "type": "com.zendesk.ticket",
        "origin": "webhook/zendesk",
        "time": at(clock, day),
        **more,
    }


def do(clock: str, what: str, day: str = DAY, **more: Any) -> dict[str, Any]:
    """A control line."""
    return {"at": at(clock, day), "do": what, **more}


def claim(clock: str, most: int = 100, **more: Any) -> dict[str, Any]:
    """The agent triage claims."""
    return do(clock, "claim", agent="triage", max=most, **more)


def simulate(
    lines: Sequence[dict[str, Any]],
    *objects: dict[str, Any],
    first: str | None = None,
    last: str | None = None,
) -> Lines:
    """What the simulation prints, as JSON read back."""
    read = documents.parse(b"\n---\n".join(map(orjson.dumps, objects or (watch(),))), simulated=True)
    assert not isinstance(read, Faults), list(read)
    outputs = rehearse(
        read,
        map(orjson.dumps, lines),
        None if first is None else parse_instant(first),
        None if last is None else parse_instant(last),
    )
    return [orjson.loads(orjson.dumps(output, option=orjson.OPT_UTC_Z)) for output in outputs]


def of_kind(said: Lines, kind: str) -> Lines:
    """The lines of one kind."""
    return [line for line in said if line["kind"] == kind]


def decisions(said: Lines, name: str | None = None) -> list[tuple[str, str, str]]:
    """Event, outcome and reason of each decision, of one subscription or of all."""
    return [
        (line["event"], line["outcome"], line["reason"])
        for line in of_kind(said, "decision")
        if name in (None, line["subscription"])
    ]


def outcomes(said: Lines) -> list[str]:
    """The outcome of each decision."""
    return [line["outcome"] for line in of_kind(said, "decision")]


def claimed(said: Lines) -> list[list[str]]:
    """The messages that each claim got."""
    return [line["messages"] for line in of_kind(said, "claim")]


def statuses(said: Lines) -> list[str]:
    """What each verb on a lease was answered."""
    return [line["status"] for line in of_kind(said, "lease")]


def states(said: Lines) -> list[tuple[str, str | None]]:
    """State and reason of each change of state."""
    return [(line["state"], line["reason"]) for line in of_kind(said, "state")]
