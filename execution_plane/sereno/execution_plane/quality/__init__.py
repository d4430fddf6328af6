"""Quality: what people say of verdicts, and how often a criterion was right by it."""
