"""Mailbox: what waits, who works, what was lost."""

from sereno.deploy.dashboards.board import TENANT, Board, Panel, Query, highest, quantiles, rate

_CLAIMS = f"rate(sereno_mailbox_claims_total{{{TENANT}}}[$__rate_interval])"

BOARD = Board(
    "mailbox",
    "Mailbox",
    "What waits in mailboxes, how it is worked off, and which holders lost their leases.",
    (
        Panel(
            "Messages by state",
            "Counted up to 10,000 for each tenant and state; who has more has enough to do.",
            "short",
            highest("sereno_mailbox_messages", "tenant, state", TENANT),
        ),
        Panel(
            "Oldest ready message",
            "How long the oldest message has waited that could be claimed now. It rises when workers are missing.",
            "s",
            highest("sereno_mailbox_oldest_ready_seconds", "tenant", TENANT),
            line=900,
        ),
        Panel(
            "Oldest lease",
            "How long the oldest message has been held without a break.",
            "s",
            highest("sereno_mailbox_oldest_lease_seconds", "tenant", TENANT),
        ),
        Panel(
            "Deposit until claim",
            "How long messages waited for their first claim.",
            "s",
            quantiles("sereno_mailbox_claim_latency_seconds"),
        ),
        Panel(
            "Claims",
            "Messages claimed.",
            "cps",
            rate("sereno_mailbox_claims_total", "tenant", TENANT),
            stacked=True,
        ),
        Panel(
            "Share of claims",
            "Tenants are taken in turn: while several wait, none should have most of the claims.",
            "percentunit",
            (
                Query(
                    f"sum by (tenant) ({_CLAIMS}) / ignoring (tenant) group_left () sum({_CLAIMS})",
                    "{{tenant}}",
                ),
            ),
            stacked=True,
        ),
        Panel(
            "Verbs",
            "Answers to lease verbs that were carried out.",
            "cps",
            rate("sereno_mailbox_verbs_total", "verb", 'status="ok"'),
        ),
        Panel(
            "Verbs refused",
            "Answers to holders whose token holds no more. A stale verb changed nothing; many of them are workers too slow for their leases.",
            "cps",
            rate("sereno_mailbox_verbs_total", "verb, status", 'status=~"stale|expired"'),
        ),
        Panel(
            "Leases lost",
            "Leases that ran out under their holder, or that a pause or stop took back.",
            "cps",
            rate("sereno_mailbox_fence_losses_total", "reason"),
            stacked=True,
        ),
        Panel(
            "Ended by the reaper",
            "Leases and ages that ran out, by what the message became.",
            "cps",
            rate("sereno_mailbox_reaped_total", "state"),
        ),
        Panel(
            "Messages that ended",
            "Acknowledged, or dead: attempts used up, too old, or ended by a person.",
            "cps",
            rate("sereno_mailbox_closed_total", "outcome", TENANT),
            stacked=True,
        ),
        Panel(
            "Parked messages",
            "By what they wait for: a person's approval, the answer to a question, another message.",
            "short",
            highest("sereno_mailbox_parked", "tenant, reason", TENANT),
            stacked=True,
        ),
    ),
)
