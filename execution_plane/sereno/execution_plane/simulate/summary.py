"""How a simulation is shown to people: a line for each thing that happened, then a table by subscription."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import typer

from sereno.mailbox.cli.output import print_table

_FIXED = ("arrived", "delivered", "merged")


@dataclass(slots=True)
class Tally:
    """What one subscription came to: events by what became of them at last, messages, and when it was suspended."""

    arrived: int = 0
    messages: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    suspended_at: list[str] = field(default_factory=list)

    def counts(self) -> dict[str, int]:
        """Every count by its name; what did not occur is left out, but for the first three."""
        fixed = {"arrived": self.arrived, **{name: self.outcomes[name] for name in _FIXED[1:]}}
        return fixed | dict(sorted(self.outcomes.items())) | {"messages": self.messages}


class Summary:
    """Counts what happened by subscription while it passes.

    An event that was held, merged or waited for its verdict counts as what it came to in the end.
    """

    def __init__(self) -> None:
        self.tallies: dict[str, Tally] = {}
        self._waiting: dict[tuple[str, str], str] = {}

    def add(self, output: Mapping[str, Any]) -> None:
        """Count one output line."""
        if output["kind"] == "decision" and output["outcome"] != "not_matched":
            self._decision(output)
        elif output["kind"] == "flush":
            self._of(output).messages += 1
        elif output["kind"] == "state" and output["state"] == "suspended":
            self._of(output).suspended_at.append(output["at"])

    def _decision(self, output: Mapping[str, Any]) -> None:
        tally, pair = self._of(output), (output["event"], output["subscription"])
        before = self._waiting.pop(pair, None) if output["reason"] != "duplicate" else None
        if before is None:
            tally.arrived += 1
        else:
            tally.outcomes[before] -= 1
        outcome = output["outcome"]
        kind = outcome if outcome != "dropped" else f"dropped by {output['guard']}"
        tally.outcomes[kind] += 1
        tally.messages += outcome == "delivered"
        if outcome in ("held", "suspended", "awaiting_verdict", "merged"):
            self._waiting[pair] = kind

    def _of(self, output: Mapping[str, Any]) -> Tally:
        return self.tallies.setdefault(output["subscription"], Tally())

    def show(self) -> None:
        """Print the table: arrived, delivered, merged, then a column for each other outcome, and suspended at."""
        others = sorted(
            {
                kind
                for tally in self.tallies.values()
                for kind, count in tally.outcomes.items()
                if count and kind not in _FIXED
            }
        )
        rows = [
            (
                name,
                tally.arrived,
                *(tally.outcomes[kind] for kind in (*_FIXED[1:], *others)),
                tally.messages,
                ", ".join(tally.suspended_at) or None,
            )
            for name, tally in sorted(self.tallies.items())
        ]
        print_table(("subscription", *_FIXED, *others, "messages", "suspended at"), rows)


def show_line(output: Mapping[str, Any]) -> None:
    """Print one output line as a sentence."""
    typer.echo(f"{output['at']}  {_WORDS[output['kind']](output)}")


def _decision(output: Mapping[str, Any]) -> str:
    became = "".join(_became(output))
    return (
        f"{output['event']} → {output['subscription']}: {output['outcome']}{became}"
        f" ({output['guard']}: {output['reason']})"
    )


def _became(output: Mapping[str, Any]) -> Iterator[str]:
    if output["message"]:
        yield f" as {output['message']}"
    if output["batch"]:
        yield f" in {output['batch']}"


def _flush(output: Mapping[str, Any]) -> str:
    count = len(output["events"])
    return f"{output['batch']} of {output['subscription']} becomes {output['message']} with {count} events"


def _state(output: Mapping[str, Any]) -> str:
    reason = f" ({output['reason']})" if output["reason"] else ""
    return f"{output['subscription']} is {output['state']}{reason}"


def _claim(output: Mapping[str, Any]) -> str:
    pairs = zip(output["messages"], output["leases"], strict=True)
    got = ", ".join(f"{message} under {lease}" for message, lease in pairs)
    return f"{output['agent']} claims {got or 'nothing'}"


def _lease(output: Mapping[str, Any]) -> str:
    return f"{output['lease']}: {output['status']}"


_WORDS = {"decision": _decision, "flush": _flush, "state": _state, "claim": _claim, "lease": _lease}
