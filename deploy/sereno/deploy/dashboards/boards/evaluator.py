"""Evaluator: what judging costs, and how often it fails."""

from sereno.deploy.dashboards.board import TENANT, Board, Panel, Query, highest, quantiles, rate

_CALLS = "sereno_evaluator_calls_total"

BOARD = Board(
    "evaluator",
    "Evaluator",
    "What judging semantic conditions takes, costs, and how often it fails. Verdicts are judged, not verified.",
    (
        Panel(
            "Calls",
            "Calls of models, by whether they were answered.",
            "cps",
            rate(_CALLS, "outcome", TENANT),
            stacked=True,
        ),
        Panel(
            "Failed calls",
            "Calls that brought no answer, as a share of all. An error never wakes anybody.",
            "percentunit",
            (
                Query(
                    f'sum by (tenant) (rate({_CALLS}{{{TENANT}, outcome="failed"}}[$__rate_interval]))'
                    f" / sum by (tenant) (rate({_CALLS}{{{TENANT}}}[$__rate_interval]))",
                    "{{tenant}}",
                ),
            ),
            line=0.1,
        ),
        Panel(
            "Verdicts",
            "On each candidate: `fires`, `not_met`, or the kind of the error.",
            "cps",
            rate("sereno_evaluator_verdicts_total", "outcome", TENANT),
            stacked=True,
        ),
        Panel(
            "Tokens",
            "Tokens that calls took.",
            "cps",
            rate("sereno_evaluator_tokens_total", "direction", TENANT),
            stacked=True,
        ),
        Panel(
            "Cost per hour",
            "What an hour at the present pace costs, in the currencies of the evaluators.",
            "short",
            (
                Query(
                    f"sum by (currency) (rate(sereno_evaluator_cost_total{{{TENANT}}}[$__rate_interval])) * 3600",
                    "{{currency}}",
                ),
            ),
        ),
        Panel(
            "Time to judge",
            "One group of candidates of one criterion, all its calls included.",
            "s",
            quantiles("sereno_evaluator_duration_seconds"),
        ),
        Panel(
            "Candidates that wait",
            "Events that passed the first guards and wait for a verdict.",
            "short",
            highest("sereno_evaluator_waiting", "tenant", TENANT),
        ),
        Panel(
            "Oldest candidate",
            "How long the oldest of them has waited.",
            "s",
            highest("sereno_evaluator_oldest_seconds", "tenant", TENANT),
            line=300,
        ),
    ),
)
