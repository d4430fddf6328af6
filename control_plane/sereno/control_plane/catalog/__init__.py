"""The catalog's domain: what was declared, what a command would do to it, and what that means for others. No I/O."""
