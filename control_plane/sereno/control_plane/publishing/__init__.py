"""The manifest: what the execution plane may work from, signed and put where it looks."""
