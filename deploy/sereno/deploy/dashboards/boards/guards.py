"""Guards: why things do not wake."""

from sereno.deploy.dashboards.board import FAMILY, TENANT, Board, Panel, Query, highest, rate

BOARD = Board(
    "guards",
    "Guards",
    "Why things do not wake: which guard objected, for which reason, and what is held.",
    (
        Panel(
            "Objections by guard",
            "Events that woke nobody, by the guard that decided it. `match` is a filter that could not be evaluated.",
            "cps",
            rate("sereno_guard_objections_total", "guard", TENANT),
            stacked=True,
        ),
        Panel(
            "Objections by reason",
            "The ten most frequent reasons. `explain --why-not` tells the numbers of one event.",
            "cps",
            (
                Query(
                    f"topk(10, sum by (reason) (rate(sereno_guard_objections_total{{{TENANT}}}[$__rate_interval])))",
                    "{{reason}}",
                ),
            ),
        ),
        Panel(
            "Objections by tenant",
            "Whose events wake nobody.",
            "cps",
            rate("sereno_guard_objections_total", "tenant", TENANT),
            stacked=True,
        ),
        Panel(
            "Decided by",
            "Which guard decided, also in favour: `delivery` is the last that is asked.",
            "cps",
            rate("sereno_decisions_total", "guard, outcome", TENANT, FAMILY),
        ),
        Panel(
            "What each guard said",
            "Answers of all seven guards. Without a limit of its kind a guard says `not_configured`, which is left out.",
            "cps",
            rate("sereno_guard_verdicts_total", "guard, answer", 'answer!="not_configured"'),
        ),
        Panel(
            "Cost of the guards",
            "Computing time in which all guards decide one event for one subscription.",
            "s",
            (
                Query(
                    "sum(rate(sereno_guard_time_seconds_total[$__rate_interval]))"
                    " / sum(rate(sereno_decisions_total[$__rate_interval]))",
                    "per decision",
                ),
            ),
        ),
        Panel(
            "Held events",
            "Events that wait for a person, for the end of a stop, or for a valid policy. Nothing of it is lost.",
            "short",
            highest("sereno_guard_held", "tenant, reason", TENANT),
            stacked=True,
        ),
        Panel(
            "Open suspensions",
            "Subscriptions or objects that stopped themselves. Only a person lifts them.",
            "short",
            highest("sereno_guard_suspensions", "tenant, reason", TENANT),
            stacked=True,
        ),
        Panel(
            "Batches that collect",
            "Open batches, which become one message each.",
            "short",
            highest("sereno_guard_open_batches", "tenant", TENANT),
        ),
        Panel(
            "Fullest budget",
            "Used of its limit in the running period, the fullest of each scope. At 1 the subscription is suspended.",
            "percentunit",
            highest("sereno_budget_used", "tenant, scope, measure", TENANT),
            line=1,
        ),
        Panel(
            "Events that cannot be decided",
            "In quarantine with their bytes, for a reason of the data.",
            "short",
            highest("sereno_quarantine_events", "tenant", TENANT),
            line=1,
        ),
    ),
)
