"""Explanations: why an agent woke, and why it did not, from what was stored when it was decided."""

from sereno.execution_plane.explain.http import router

__all__ = ["router"]
