"""The gateway as a process: webhooks, the worker API and explain over HTTP."""

import asyncio
import gc
import hashlib
import hmac
import os
from datetime import UTC, datetime
from functools import partial

from sereno.execution_plane.agent_events import AgentEvents
from sereno.execution_plane.api import Front, Parts, create_app
from sereno.execution_plane.audit.http import Signed
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.deliveries.log import DeliveryLog
from sereno.execution_plane.deliveries.redelivery import Redelivery
from sereno.execution_plane.gateway import sealing_keys
from sereno.execution_plane.gateway.admission import Admission
from sereno.execution_plane.gateway.group_commit import GroupCommit, IngressPublisher
from sereno.execution_plane.gateway.secrets import Secrets
from sereno.execution_plane.gateway.webhook import WebhookGateway
from sereno.execution_plane.gauges.standing import manifests
from sereno.execution_plane.large_data import forgetting
from sereno.execution_plane.large_data.claims import Claims
from sereno.execution_plane.manifest import trust
from sereno.execution_plane.manifest.receiver import Receiver
from sereno.execution_plane.process_engines import checks, listening, log_start, open_engines, readings
from sereno.execution_plane.stops.responder import Responder
from sereno.mailbox.audit import keys as audit_keys
from sereno.mailbox.audit.keys import AuditKeyError
from sereno.mailbox.bearer import LeaseBearers
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.engine import bus, http_server
from sereno.mailbox.engine.readings import Look
from sereno.mailbox.engine.settings import Settings
from sereno.mailbox.verbs import Mailbox
from sereno.mailbox.wake import Wake


async def run(settings: Settings, stop: asyncio.Event) -> None:
    """Webhooks, the worker API and explain over HTTP. Raises what says, in a sentence, why it cannot start."""
    keys, (bearers, data_key) = trust.configured(settings), _keys(settings)
    sealing, signed = sealing_keys.configured(settings), _signed(settings)
    with listening(settings.execution_host, settings.execution_port) as bound:
        async with open_engines(settings, "gateway") as engines:
            catalog, wake = Catalog(), Wake(engines.nats)
            await catalog.refresh(engines.pool)
            await wake.start()
            commit = GroupCommit(IngressPublisher(engines.nats))
            log = DeliveryLog(engines.pool)
            claims = Claims(engines.pool, data_key)
            admission = Admission(Secrets(sealing_keys=sealing), os.urandom)
            webhooks = WebhookGateway(
                catalog,
                admission,
                commit,
                _now,
                record=log.record,
                public_url=settings.execution_url,
                withhold=claims.withhold,
            )
            redelivery = Redelivery(engines.pool, commit, log, os.urandom, _now)
            mailbox = Mailbox(engines.pool, wake=wake, emitter=AgentEvents(os.urandom))
            needed = (bus.INGRESS, bus.MANIFESTS)
            ready = partial(checks, engines, *needed)
            looks: dict[str, Look] = {
                "manifests": manifests(catalog),
                "audit": partial(signed.standing.look, engines.pool),
            }
            parts = Parts(
                mailbox,
                catalog,
                webhooks,
                bearers,
                ready,
                redelivery,
                signed,
                settings.control_url,
                readings(engines, ready, needed, looks).refresh,
            )
            api = create_app(parts)
            app = Front(webhooks, api)
            # What was built by now stays, so the collector need not look at it again.
            gc.freeze()
            log_start("gateway", settings)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(http_server.serve(app, bound, stop))
                tasks.create_task(api.state.agents.run(stop))
                tasks.create_task(log.run(stop))
                tasks.create_task(forgetting.run(engines.pool, stop))
                tasks.create_task(Receiver(engines.pool, engines.nats, keys, catalog, wake).run(stop))
                tasks.create_task(Responder(engines.pool, engines.nats, wake).run(stop))
            # Requests are answered by now; what they still left in a batch is written before the connection goes.
            await commit.close()
            await log.flush()


def _keys(settings: Settings) -> tuple[LeaseBearers, bytes]:
    """What the lease key seals, and the key for the addresses of large data that is made from it."""
    path = settings.lease_key_file
    if path is None:
        raise CommandError("no key for lease bearers is configured; set SERENO_LEASE_KEY_FILE")
    try:
        key = path.read_bytes()
        return LeaseBearers(key), hmac.digest(key, b"sereno-large-data", hashlib.sha256)
    except OSError as fault:
        raise CommandError(f"the key for lease bearers in {path} cannot be read: {fault.strerror}") from fault
    except ValueError as fault:
        raise CommandError(f"{path}: {fault}") from fault


def _signed(settings: Settings) -> Signed:
    """Against which checkpoints the chain is held when somebody asks."""
    try:
        return Signed(settings.audit_checkpoint_file, audit_keys.trusted(settings.audit_keys_file))
    except AuditKeyError as fault:
        raise CommandError(str(fault)) from fault


def _now() -> datetime:
    return datetime.now(UTC)
