"""The one envelope every cause travels in: a CloudEvents 1.0.2 event, as sent and as received (pure, no I/O)."""
