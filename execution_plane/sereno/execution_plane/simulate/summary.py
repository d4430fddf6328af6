"""How a simulation is shown to people: a line for each thing that happened, then a table by subscription."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import typer

from sereno.mailbox.cli.output import print_table


class Summary:
    """Counts decisions by subscription while they pass."""

    def __init__(self) -> None:
        self._outcomes: dict[str, Counter[str]] = {}

    def add(self, output: Mapping[str, Any]) -> None:
        """Count one output line; other kinds than decisions do not count."""
        if output["kind"] == "decision" and output["outcome"] != "not_matched":
            kind = output["outcome"] if output["outcome"] != "dropped" else f"dropped by {output['guard']}"
            self._outcomes.setdefault(output["subscription"], Counter())[kind] += 1

    def show(self) -> None:
        """Print the table: arrived, then one column an outcome that occurred."""
        kinds = sorted({kind for counts in self._outcomes.values() for kind in counts})
        rows = [
            (name, counts.total(), *(counts[kind] for kind in kinds))
            for name, counts in sorted(self._outcomes.items())
        ]
        print_table(("subscription", "arrived", *kinds), rows)


def show_line(output: Mapping[str, Any]) -> None:
    """Print one output line as a sentence."""
    typer.echo(f"{output['at']}  {_WORDS[output['kind']](output)}")


def _decision(output: Mapping[str, Any]) -> str:
    became = f" as {output['message']}" if output["message"] else ""
    return (
        f"{output['event']} → {output['subscription']}: {output['outcome']}{became}"
        f" ({output['guard']}: {output['reason']})"
    )


def _state(output: Mapping[str, Any]) -> str:
    reason = f" ({output['reason']})" if output["reason"] else ""
    return f"{output['subscription']} is {output['state']}{reason}"


def _claim(output: Mapping[str, Any]) -> str:
    pairs = zip(output["messages"], output["leases"], strict=True)
    got = ", ".join(f"{message} under {lease}" for message, lease in pairs)
    return f"{output['agent']} claims {got or 'nothing'}"


def _lease(output: Mapping[str, Any]) -> str:
    return f"{output['lease']}: {output['status']}"


def _flush(output: Mapping[str, Any]) -> str:
    return f"{output['batch']} of {output['subscription']} with {len(output['events'])} becomes {output['message']}"


_WORDS = {"decision": _decision, "flush": _flush, "state": _state, "claim": _claim, "lease": _lease}
