"""Governance: what waits for people, and whether they still look before they agree."""

from sereno.deploy.dashboards.board import TENANT, Board, Panel, Query, highest, rate

_RESOLVED = "sereno_approvals_resolved_total"
_PEOPLE = 'outcome=~"approved|denied"'

BOARD = Board(
    "governance",
    "Governance",
    "What waits for people, how they decide, what is spent, and what is stopped.",
    (
        Panel(
            "Approval rate",
            "Changes approved, of those decided by people within seven days. Above 95 % nobody refuses any more: "
            "grant what is harmless, or look closer.",
            "percentunit",
            (
                Query(
                    f'sum by (tenant) (increase({_RESOLVED}{{{TENANT}, outcome="approved"}}[7d]))'
                    f" / sum by (tenant) (increase({_RESOLVED}{{{TENANT}, {_PEOPLE}}}[7d]))",
                    "{{tenant}}",
                ),
            ),
            line=0.95,
        ),
        Panel(
            "Decisions of people",
            "Changes that people approved or denied.",
            "cps",
            rate(_RESOLVED, "outcome", TENANT),
            stacked=True,
        ),
        Panel(
            "Changes that wait",
            "Changes that nobody has decided on.",
            "short",
            highest("sereno_approvals_waiting", "tenant", TENANT),
        ),
        Panel(
            "Oldest change that waits",
            "After seven days it expires and has to be asked for again.",
            "s",
            highest("sereno_approvals_oldest_seconds", "tenant", TENANT),
            line=259_200,
        ),
        Panel(
            "Runs that wait for a person",
            "Messages parked for an approval or an answer.",
            "short",
            highest("sereno_mailbox_parked", "tenant, reason", TENANT, 'reason=~"approval|question"'),
        ),
        Panel(
            "Longest wait of a run",
            "How long the oldest parked message has waited.",
            "s",
            highest("sereno_mailbox_oldest_parked_seconds", "tenant", TENANT),
        ),
        Panel(
            "Answers",
            "Answers of people to parked work.",
            "cps",
            rate("sereno_answers_given_total", "outcome", TENANT),
        ),
        Panel(
            "Cost reported by runs",
            "What an hour at the present pace costs, as workers report it with their acknowledgement.",
            "short",
            (
                Query(
                    f"sum by (tenant, currency) (rate(sereno_usage_cost_total{{{TENANT}}}[$__rate_interval])) * 3600",
                    "{{tenant}} · {{currency}}",
                ),
            ),
        ),
        Panel(
            "Stops in force",
            "While one is in force nothing in its scope is claimed or delivered; `*` stops everybody.",
            "short",
            highest("sereno_stop_engaged", "tenant"),
            line=1,
        ),
    ),
)
