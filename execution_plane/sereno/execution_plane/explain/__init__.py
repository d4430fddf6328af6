"""Explanations: why an agent woke, and why it did not, from what was stored when it was decided."""
