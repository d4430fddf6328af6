"""Signature schemes of webhook senders, one module each behind one protocol."""
