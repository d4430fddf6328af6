"""The JSON Schemas of the lines that `sereno simulate` reads and prints."""

from typing import Any

from pydantic import TypeAdapter

from sereno.deploy.schema_export.envelope_schema import envelope_schema
from sereno.execution_plane.simulate.lines import Control

_TIME = {"type": "string", "format": "date-time"}
_TEXT = {"type": "string"}
_NAMES = {"type": "array", "items": _TEXT}
_PERHAPS = {"type": ["string", "null"]}
# What a received envelope must say itself; the rest is taken from it or from the command line.
_SAID = ["specversion", "id", "source", "type", "origin"]


def simulate_input_schema() -> dict[str, Any]:
    """A line of the input: a received envelope, of which the platform's part may be left out, or a control line."""
    received = {name: value for name, value in envelope_schema().items() if not name.startswith("$")}
    received |= {
        "title": "Received",
        "required": _SAID,
        "anyOf": [{"required": ["recordedtime"]}, {"required": ["time"]}],
    }
    control = TypeAdapter(Control).json_schema()
    shared = control.pop("$defs")
    return {
        "title": "SimulateInput",
        "description": "One line of the events of `sereno simulate`.",
        "oneOf": [{"$ref": "#/$defs/Received"}, control],
        "$defs": {"Received": received, **shared},
    }


def simulate_output_schema() -> dict[str, Any]:
    """A line of the output: a decision, a flushed batch, a change of state, a claim or the answer to a lease verb."""
    kinds: dict[str, dict[str, Any]] = {
        "decision": {
            "event": _TEXT,
            "subscription": _TEXT,
            "outcome": _TEXT,
            "guard": _TEXT,
            "reason": _PERHAPS,
            "message": {"type": ["string", "null"], "pattern": "^M[1-9][0-9]*$"},
            "batch": {"type": ["string", "null"], "pattern": "^B[1-9][0-9]*$"},
            "numbers": {"type": "object"},
        },
        "flush": {
            "subscription": _TEXT,
            "batch": {"type": "string", "pattern": "^B[1-9][0-9]*$"},
            "events": _NAMES,
            "message": {"type": "string", "pattern": "^M[1-9][0-9]*$"},
        },
        "state": {"subscription": _TEXT, "state": _TEXT, "reason": _PERHAPS},
        "claim": {"agent": _TEXT, "messages": _NAMES, "leases": _NAMES},
        "lease": {"lease": {"type": "string", "pattern": "^L[1-9][0-9]*$"}, "status": _TEXT},
    }
    return {
        "title": "SimulateOutput",
        "description": "One line that `sereno simulate --json` prints.",
        "oneOf": [_line(kind, members) for kind, members in kinds.items()],
    }


def _line(kind: str, members: dict[str, Any]) -> dict[str, Any]:
    properties = {"kind": {"const": kind}, "at": _TIME, **members}
    return {
        "title": kind.capitalize(),
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
