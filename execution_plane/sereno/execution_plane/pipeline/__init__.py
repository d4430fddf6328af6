"""The pipeline: takes batches from the ingress, decides, and writes messages, verdicts and state at once."""

from sereno.execution_plane.pipeline.consumer import Consumer

__all__ = ["Consumer"]
