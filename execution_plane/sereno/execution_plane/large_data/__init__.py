"""Claim check: data too large to travel is stored once, and the envelope carries a reference to it."""
