"""A board: one question, and the panels that answer it, before Grafana is thought of."""

from dataclasses import dataclass
from typing import Literal

TENANT = 'tenant=~"$tenant"'
FAMILY = 'family=~"$family"'
_RATE = "[$__rate_interval]"

Unit = Literal["short", "s", "percentunit", "reqps", "cps", "bytes", "bool", "none"]
"""Units that Grafana knows; a misspelt one would silently be shown as a bare number."""


@dataclass(frozen=True, slots=True)
class Query:
    """One expression, and how its series are called."""

    expr: str
    legend: str


@dataclass(frozen=True, slots=True)
class Panel:
    """What is shown, and what it means; `line` is a value that should not be passed."""

    title: str
    description: str
    unit: Unit
    queries: tuple[Query, ...]
    stacked: bool = False
    line: float | None = None


@dataclass(frozen=True, slots=True)
class Board:
    """One dashboard; the names of variables in its expressions are Grafana's."""

    name: str
    title: str
    description: str
    panels: tuple[Panel, ...]


def rate(metric: str, by: str, *matchers: str, legend: str | None = None) -> tuple[Query, ...]:
    """How often a second, by these labels."""
    return (Query(f"sum by ({by}) (rate({_selected(metric, matchers)}{_RATE}))", legend or _legend(by)),)


def highest(metric: str, by: str, *matchers: str, legend: str | None = None) -> tuple[Query, ...]:
    """A gauge as the replica says that has the most: each of them shows the same of the whole plane."""
    expr = f"max by ({by}) ({_selected(metric, matchers)})" if by else f"max({_selected(metric, matchers)})"
    return (Query(expr, legend or _legend(by)),)


def quantiles(metric: str, *matchers: str) -> tuple[Query, ...]:
    """Half of the values of a histogram, and all but one of a hundred, lie below these."""
    inner = f"sum by (le) (rate({_selected(metric + '_bucket', matchers)}{_RATE}))"
    return tuple(
        Query(f"histogram_quantile({q}, {inner})", name) for q, name in ((0.5, "half"), (0.99, "99 %"))
    )


def share(part: str, whole: str, by: str = "", legend: str = "share") -> tuple[Query, ...]:
    """One rate as a share of another."""
    grouped = f" by ({by})" if by else ""
    return (Query(f"sum{grouped} (rate({part}{_RATE})) / sum{grouped} (rate({whole}{_RATE}))", legend),)


def selected(metric: str, *matchers: str) -> str:
    """The series of a metric that these matchers leave."""
    return _selected(metric, matchers)


def _selected(metric: str, matchers: tuple[str, ...]) -> str:
    return f"{metric}{{{', '.join(matchers)}}}" if matchers else metric


def _legend(by: str) -> str:
    return " · ".join(f"{{{{{label.strip()}}}}}" for label in by.split(",") if label.strip()) or "all"
