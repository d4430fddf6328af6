"""Listeners: what observes a source and turns what it sees into envelopes, without deciding anything about them."""
