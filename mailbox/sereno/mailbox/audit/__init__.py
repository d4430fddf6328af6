"""The audit chain: what was done, by whom and why, so that nothing of it can be changed, removed or slipped in unnoticed."""
