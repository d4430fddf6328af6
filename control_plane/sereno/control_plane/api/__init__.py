"""The HTTP face of the control plane."""

from sereno.control_plane.api.app import create_app

__all__ = ["create_app"]
