"""The processes of the execution plane; each runs until it is told to stop, and owns all its tasks.

Each loads only its own part of the plane: one does not pay for what another serves.
"""

import asyncio

from sereno.mailbox.engine.settings import Settings


async def run_gateway(settings: Settings, stop: asyncio.Event) -> None:
    """Webhooks, the worker API and explain over HTTP. Raises what says, in a sentence, why it cannot start."""
    from sereno.execution_plane import gateway_process  # noqa: PLC0415 - see above

    await gateway_process.run(settings, stop)


async def run_listeners(settings: Settings, stop: asyncio.Event) -> None:
    """The listeners, and the relay that carries their signals to the ingress."""
    from sereno.execution_plane import listeners_process  # noqa: PLC0415 - see above

    await listeners_process.run(settings, stop)


async def run_pipeline(settings: Settings, stop: asyncio.Event) -> None:
    """The consumer of the ingress with its guards, the reaper of leases, and a receiver of manifests."""
    from sereno.execution_plane import pipeline_process  # noqa: PLC0415 - see above

    await pipeline_process.run(settings, stop)
