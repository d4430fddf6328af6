"""Usage: how often agents were woken, evaluators asked and tests made, and what that cost."""
