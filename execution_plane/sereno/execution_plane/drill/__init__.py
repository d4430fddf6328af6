"""Drills: attacks and failures of our own making, against what is configured here."""
