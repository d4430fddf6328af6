"""The HTTP face of the execution plane: webhooks, the worker API, explain, notices and the manifest in force."""

from sereno.execution_plane.api.app import Parts, create_app

__all__ = ["Parts", "create_app"]
