"""Rows that a step back has to carry over, by schema: written at the last revision."""

CONTENT: dict[str, tuple[str, ...]] = {
    "mailbox": (
        "select mailbox.set_limit('acme', 'triage', 20)",
        "insert into mailbox.stop (scope, reason, principal) values ('acme/agent/triage', 'tests', 'user:marta')",
        "insert into mailbox.stop (scope, reason, principal) values ('acme/connector/mail', 'tests', 'user:marta')",
    ),
    "execution": (
        """
        insert into execution.verdict (tenant_id, receiptid, subscription, subscription_version, outcome, guard, reason,
            guards, recorded_clock, database_clock)
        values ('acme', '019cb000-0000-7000-8000-000000000001', 'one', 1, 'held', 'delivery', 'stopped', '[]', now(), now())
        """,
        """
        insert into execution.dedup (tenant_id, origin, subscription, dedupkey, receiptid, outcome, expires_at)
        values ('acme', 'webhook/a', 'one', 'k', '019cb000-0000-7000-8000-000000000001', 'awaiting_verdict', now())
        """,
    ),
}
