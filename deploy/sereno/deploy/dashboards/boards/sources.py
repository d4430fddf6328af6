"""Sources and schedules: whether everything that was due was noticed."""

from sereno.deploy.dashboards.board import FAMILY, TENANT, Board, Panel, Query, highest, quantiles, rate

BOARD = Board(
    "sources",
    "Sources and schedules",
    "Whether each source is read, and whether every instant that was due came to an end.",
    (
        Panel(
            "Signals of sources",
            "Events by the kind of source.",
            "cps",
            rate("sereno_ingress_events_total", "family", TENANT, FAMILY),
            stacked=True,
        ),
        Panel(
            "Lateness of signals",
            "From the instant that was due until its signal was written.",
            "s",
            quantiles("sereno_schedule_lateness_seconds"),
        ),
        Panel(
            "Due until decided",
            "From the instant that was due until its outcome, all but one of a hundred.",
            "s",
            (
                Query(
                    "histogram_quantile(0.99, sum by (le, outcome)"
                    " (rate(sereno_schedule_delivery_seconds_bucket[$__rate_interval])))",
                    "{{outcome}}",
                ),
            ),
        ),
        Panel(
            "Unaccounted instants",
            "Due for more than a minute and neither written nor decided. Always 0, or something is broken.",
            "short",
            highest("sereno_schedule_unaccounted", "tenant, family", TENANT, FAMILY),
            line=1,
        ),
        Panel(
            "Overdue",
            "For how long the oldest instant that is due has waited for its signal. It rises while listeners are away.",
            "s",
            highest("sereno_schedule_overdue_seconds", "tenant, family", TENANT, FAMILY),
            line=60,
        ),
        Panel(
            "Schedules and calendars",
            "Those that have something to come.",
            "short",
            highest("sereno_schedule_active", "tenant, family", TENANT, FAMILY),
        ),
        Panel(
            "Looks at calendars",
            "By what was found: `news`, `same`, or `away` when the source did not answer.",
            "cps",
            rate("sereno_calendar_looks_total", "status"),
            stacked=True,
        ),
        Panel(
            "Staleness of sources",
            "How long ago the source was read that was read longest ago.",
            "s",
            highest("sereno_source_staleness_seconds", "tenant, family", TENANT, FAMILY),
            line=7200,
        ),
        Panel(
            "Failing sources",
            "Sources whose last look failed; what is known of them still wakes.",
            "short",
            highest("sereno_source_failing", "tenant, family", TENANT, FAMILY),
            line=1,
        ),
    ),
)
