"""Evaluation: candidates of semantic conditions are leased to an evaluator, and its verdict enters again as an event."""
