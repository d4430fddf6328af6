"""The evaluator as a process: it leases candidates of semantic conditions and lets declared models judge them."""

import asyncio
import os
import secrets
from functools import partial

from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.evaluator import criteria, declared, forgetting, model_call
from sereno.execution_plane.evaluator.evaluation import Evaluation, Remembered
from sereno.execution_plane.evaluator.judging import Judging
from sereno.execution_plane.evaluator.metering import Meter
from sereno.execution_plane.evaluator.replay import Replay
from sereno.execution_plane.evaluator.testing import TestNow
from sereno.execution_plane.gauges.standing import manifests
from sereno.execution_plane.manifest import trust
from sereno.execution_plane.manifest.receiver import Receiver
from sereno.execution_plane.pipeline.directory import Directory
from sereno.execution_plane.process_engines import checks, listening, log_start, open_engines, readings
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.engine import asking, bus, http_server, probes
from sereno.mailbox.engine.settings import Settings
from sereno.mailbox.wake import Wake

_DELIMITER_BYTES = 9


async def run(settings: Settings, stop: asyncio.Event) -> None:
    """Judge until told to stop. Raises `CommandError` naming what is missing or wrong in `SERENO_EVALUATORS`."""
    keys = trust.configured(settings)
    try:
        evaluators = declared.parse(settings.evaluators)
    except ValueError as fault:
        raise CommandError(f"SERENO_EVALUATORS: {fault}") from fault
    if not evaluators:
        raise CommandError(f"no evaluator is configured; {declared.EXAMPLE}")
    try:
        credentials = {one.name: one.credential() for one in evaluators}
    except LookupError as fault:
        raise CommandError(str(fault.args[0])) from fault
    with listening(settings.execution_host, settings.evaluator_port) as bound:
        async with (
            open_engines(settings, "evaluator") as engines,
            model_call.opened_all(evaluators, credentials) as callers,
        ):
            catalog, wake = Catalog(), Wake(engines.nats)
            await catalog.refresh(engines.pool)
            evaluation = Evaluation(
                evaluators, callers, Remembered(), lambda: secrets.token_hex(_DELIMITER_BYTES)
            )
            judging = Judging(engines.pool, Directory(catalog), evaluation)
            meter = Meter(engines.pool, catalog, os.urandom)
            testing = TestNow(engines.pool, evaluation, meter)
            replay = Replay(engines.pool, evaluation, meter)
            await criteria.tell_changed(engines.pool, [one.model for one in evaluators])
            log_start("evaluator", settings)
            ready = partial(checks, engines, bus.MANIFESTS)
            gauges = readings(engines, ready, (), {"manifests": manifests(catalog)})
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(http_server.serve(probes.app(ready, gauges.refresh), bound, stop))
                tasks.create_task(Receiver(engines.pool, engines.nats, keys, catalog, wake).run(stop))
                tasks.create_task(judging.run(stop))
                tasks.create_task(forgetting.run(engines.pool, stop))
                tasks.create_task(asking.serve(engines.nats, "test", testing.answer, stop))
                tasks.create_task(asking.serve(engines.nats, "replay", replay.answer, stop))
