"""Sending notices to people: sinks, deliveries that are tried until they arrive, and links by which people answer."""
