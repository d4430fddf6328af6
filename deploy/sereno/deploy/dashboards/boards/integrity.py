"""Integrity: whether what is enforced and what is recorded can be relied on."""

from sereno.deploy.dashboards.board import TENANT, Board, Panel, Query, highest, rate

BOARD = Board(
    "integrity",
    "Integrity",
    "Whether the rules in force are fresh, the record is whole, and no holder acts without a lease.",
    (
        Panel(
            "Age of the manifest",
            "How long ago the rules that the execution plane works from were signed. They are renewed every minute.",
            "s",
            highest("sereno_manifest_age_seconds", "tenant", TENANT),
            line=600,
        ),
        Panel(
            "Validity of the manifest",
            "For how long the execution plane may still work from it. At 0 nothing is delivered any more.",
            "s",
            (Query(f"min by (tenant) (sereno_manifest_validity_seconds{{{TENANT}}})", "{{tenant}}"),),
        ),
        Panel(
            "Manifests refused",
            "Forged, older than the one in force, or incomplete.",
            "cps",
            rate("sereno_manifest_refused_total", "reason"),
        ),
        Panel(
            "Records of the audit chain",
            "What was done, chained so that nothing of it changes unnoticed.",
            "short",
            highest("sereno_audit_records", "tenant, plane", TENANT),
        ),
        Panel(
            "Records not signed yet",
            "Behind the last signed checkpoint, which is taken every minute.",
            "short",
            highest("sereno_audit_unsigned", "tenant, plane", TENANT),
        ),
        Panel(
            "Last verification",
            "How long ago the chain was found whole, or the process started if it was not verified since.",
            "s",
            highest("sereno_audit_verified_seconds", "tenant, plane", TENANT),
            line=604_800,
        ),
        Panel(
            "Faults of the chain",
            "What the last verification found. Always 0.",
            "short",
            highest("sereno_audit_faults", "tenant, plane", TENANT),
            line=1,
        ),
        Panel(
            "Stale verbs refused",
            "Holders that came too late and changed nothing.",
            "cps",
            rate("sereno_mailbox_verbs_total", "verb", 'status="stale"'),
        ),
    ),
)
