"""Wakes: what comes in, and how much of it wakes an agent."""

from sereno.deploy.dashboards.board import FAMILY, TENANT, Board, Panel, Query, quantiles, rate, selected

_EVENTS = selected("sereno_ingress_events_total", TENANT, FAMILY)
_WAKES = selected("sereno_mailbox_deposits_total", TENANT, FAMILY)

BOARD = Board(
    "wakes",
    "Wakes",
    "What comes in, how much of it wakes an agent, and how long that takes.",
    (
        Panel(
            "Events received",
            "Events that were made durable, by the kind of source they came from.",
            "cps",
            rate("sereno_ingress_events_total", "family", TENANT, FAMILY),
            stacked=True,
        ),
        Panel(
            "Wake-ups",
            "Messages put into mailboxes. A batch of many events is one.",
            "cps",
            rate("sereno_mailbox_deposits_total", "family", TENANT, FAMILY),
            stacked=True,
        ),
        Panel(
            "What became of events",
            "Outcome of each event for each subscription that it concerned. The board Guards tells why.",
            "cps",
            rate("sereno_decisions_total", "outcome", TENANT, FAMILY),
            stacked=True,
        ),
        Panel(
            "Wake-ups by tenant",
            "Whose agents are woken.",
            "cps",
            rate("sereno_mailbox_deposits_total", "tenant", TENANT, FAMILY),
            stacked=True,
        ),
        Panel(
            "Wake-ups per event",
            "Below 1 events wake nobody or are collected; above 1 several subscriptions listen to the same.",
            "short",
            (
                Query(
                    f"sum(rate({_WAKES}[$__rate_interval])) / sum(rate({_EVENTS}[$__rate_interval]))",
                    "wake-ups per event",
                ),
            ),
        ),
        Panel(
            "Webhook answers",
            "By HTTP status. 401 are senders who could not be authenticated; 503 are events that could not be stored.",
            "reqps",
            rate("sereno_webhook_requests_total", "status"),
            stacked=True,
        ),
        Panel(
            "Webhook answer time",
            "From the first byte of a request until its answer. A 202 includes the write to disk.",
            "s",
            quantiles("sereno_webhook_duration_seconds"),
        ),
        Panel(
            "Receipt until decision",
            "How long an event waits before the guards have decided it.",
            "s",
            quantiles("sereno_ingress_lag_seconds"),
        ),
        Panel(
            "One batch through the pipeline",
            "Match, guards and commit of the events that were fetched together.",
            "s",
            quantiles("sereno_pipeline_duration_seconds"),
        ),
        Panel(
            "Events in one write",
            "Concurrent webhooks are written together: how many on average.",
            "short",
            (
                Query(
                    "sum(rate(sereno_ingress_batch_size_sum[$__rate_interval]))"
                    " / sum(rate(sereno_ingress_batch_size_count[$__rate_interval]))",
                    "events",
                ),
            ),
        ),
    ),
)
