"""The HTTP face of the execution plane: webhooks, the worker API, explain, notices and the manifest in force."""

from sereno.execution_plane.api.app import Parts, create_app
from sereno.execution_plane.api.front import Front

__all__ = ["Front", "Parts", "create_app"]
