"""Dependencies: what Sereno stands on, and what has yet to go from one part to another."""

from sereno.deploy.dashboards.board import Board, Panel, Query, highest, quantiles, rate

BOARD = Board(
    "dependencies",
    "Dependencies",
    "Whether PostgreSQL, NATS and the processes answer, and what waits between them.",
    (
        Panel(
            "Processes",
            "1 while a process answers.",
            "short",
            (Query('up{job=~"sereno.*"}', "{{job}} · {{instance}}"),),
        ),
        Panel(
            "Dependencies",
            "Whether each process reaches what it needs: 1, or 0.",
            "short",
            (Query("min by (job, dependency) (sereno_dependency_up)", "{{job}} · {{dependency}}"),),
        ),
        Panel(
            "Versions",
            "Which version runs; two while it is being replaced.",
            "short",
            (Query("count by (version) (sereno_build_info)", "{{version}}"),),
        ),
        Panel(
            "Connections to PostgreSQL",
            "Of each process, busy and idle.",
            "short",
            (
                Query(
                    "sum by (job, instance, state) (sereno_database_connections)",
                    "{{job}} · {{instance}} · {{state}}",
                ),
            ),
            stacked=True,
        ),
        Panel(
            "Oldest transaction",
            "Followers read nothing newer than the oldest writing transaction: reports and signals wait for it.",
            "s",
            highest("sereno_database_oldest_transaction_seconds", ""),
            line=60,
        ),
        Panel(
            "Messages in streams",
            "Of the ingress: those that are yet to be decided.",
            "short",
            highest("sereno_stream_messages", "stream"),
        ),
        Panel(
            "Size of streams",
            "A full stream refuses: webhooks are answered 503.",
            "bytes",
            highest("sereno_stream_size_bytes", "stream"),
        ),
        Panel(
            "Waiting in the outbox",
            "What is to leave a plane, counted up to 10,000.",
            "short",
            highest("sereno_outbox_waiting", "plane"),
        ),
        Panel(
            "Oldest in the outbox",
            "How long the oldest row has waited to leave its plane.",
            "s",
            highest("sereno_outbox_oldest_seconds", "plane"),
            line=10,
        ),
        Panel(
            "Leaving the planes",
            "Rows that the relays published.",
            "cps",
            rate("sereno_outbox_published_total", "plane"),
            stacked=True,
        ),
        Panel(
            "Recorded until published",
            "How long rows waited in an outbox.",
            "s",
            quantiles("sereno_outbox_lag_seconds"),
        ),
        Panel(
            "Lag of followers",
            "How far who follows a log is behind it.",
            "s",
            highest("sereno_follower_lag_seconds", "follower"),
            line=10,
        ),
        Panel(
            "Gauges that cannot be read",
            "Questions for this board and its like that were not answered in time.",
            "cps",
            rate("sereno_readings_failed_total", "job, reading"),
        ),
        Panel(
            "Memory",
            "Resident memory of each process.",
            "bytes",
            (
                Query(
                    'sum by (job, instance) (process_resident_memory_bytes{job=~"sereno.*"})',
                    "{{job}} · {{instance}}",
                ),
            ),
        ),
        Panel(
            "Processor",
            "Processors that each process keeps busy.",
            "short",
            (
                Query(
                    'sum by (job, instance) (rate(process_cpu_seconds_total{job=~"sereno.*"}[$__rate_interval]))',
                    "{{job}} · {{instance}}",
                ),
            ),
        ),
    ),
)
