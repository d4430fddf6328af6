"""The commands that start, stop and inspect an installation."""

WORDS = {
    name: f"{__name__}.{name}" for name in ("init", "up", "down", "logs", "serve", "doctor", "demo", "keys")
}
"""The module that registers each command."""
