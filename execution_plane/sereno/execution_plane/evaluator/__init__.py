"""The evaluator of semantic conditions: one verdict per item from a model that has no tools (contract §5)."""
