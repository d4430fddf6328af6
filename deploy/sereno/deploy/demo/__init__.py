"""Demonstrations that run the real thing in a temporary folder and leave nothing behind."""
