"""Two versions of the subscriptions on the same events: which decisions differ, and what that sums up to."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import typer

from sereno.execution_plane.simulate.said import Output
from sereno.execution_plane.simulate.summary import Summary
from sereno.mailbox.cli.output import print_table

Pair = tuple[str, str]
"""Event and subscription."""


@dataclass(frozen=True, slots=True)
class Version:
    """What one version made of the events: its decisions by pair, in order, and their sums."""

    decisions: Mapping[Pair, list[Output]]
    summary: Summary

    @classmethod
    def of(cls, outputs: Iterable[Output]) -> "Version":
        """The version whose simulation printed this."""
        decisions: dict[Pair, list[Output]] = {}
        summary = Summary()
        for output in outputs:
            summary.add(output)
            if output["kind"] == "decision":
                decisions.setdefault((output["event"], output["subscription"]), []).append(output)
        return cls(decisions, summary)

    def counts(self, subscription: str) -> dict[str, int]:
        """The sums of one subscription; none where nothing came to it."""
        tally = self.summary.tallies.get(subscription)
        return {} if tally is None else tally.counts()


@dataclass(frozen=True, slots=True)
class Comparison:
    """The version that is and the one that might be."""

    before: Version
    after: Version

    @classmethod
    def of(cls, before: Iterable[Output], after: Iterable[Output]) -> "Comparison":
        """The comparison of two simulations of the same events."""
        return cls(Version.of(before), Version.of(after))

    def differences(self) -> Iterator[Output]:
        """One line for each pair that comes to something else, in order of time, event and subscription."""
        lines = [
            line
            for pair in self.before.decisions.keys() | self.after.decisions.keys()
            if (line := self._difference(pair)) is not None
        ]
        yield from sorted(lines, key=lambda line: (line["at"], line["event"], line["subscription"]))

    def _difference(self, pair: Pair) -> Output | None:
        before, after = self.before.decisions.get(pair, []), self.after.decisions.get(pair, [])
        if list(map(_essence, before)) == list(map(_essence, after)):
            return None
        return {
            "kind": "diff",
            "at": (before or after)[0]["at"],
            "event": pair[0],
            "subscription": pair[1],
            "before": _essence(before[-1]) if before else None,
            "after": _essence(after[-1]) if after else None,
        }

    def totals(self) -> Iterator[Output]:
        """One line for each subscription: its sums before and after."""
        for name in sorted(self.before.summary.tallies.keys() | self.after.summary.tallies.keys()):
            yield {
                "kind": "total",
                "subscription": name,
                "before": self.before.counts(name),
                "after": self.after.counts(name),
            }

    def lines(self) -> Iterator[Output]:
        """Everything, for programs."""
        yield from self.differences()
        yield from self.totals()


def _essence(decision: Mapping[str, Any]) -> dict[str, Any]:
    """What a decision came to, without the names of messages, which shift with every other decision."""
    return {name: decision[name] for name in ("outcome", "guard", "reason")}


def show_difference(comparison: Comparison) -> None:
    """Print the differences as sentences, then the sums that changed as a table."""
    for line in comparison.differences():
        was, becomes = (_words(line[side]) for side in ("before", "after"))
        typer.echo(f"{line['at']}  {line['event']} → {line['subscription']}: {was} becomes {becomes}")
    rows = [
        (total["subscription"], name, total["before"].get(name, 0), total["after"].get(name, 0))
        for total in comparison.totals()
        for name in dict.fromkeys((*total["before"], *total["after"]))
        if total["before"].get(name, 0) != total["after"].get(name, 0)
    ]
    print_table(("subscription", "count", "before", "after"), rows)


def _words(essence: Mapping[str, Any] | None) -> str:
    return "nothing" if essence is None else f"{essence['outcome']} ({essence['guard']}: {essence['reason']})"
